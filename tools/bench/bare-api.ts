import { createServer } from 'node:http'
import express from 'express'
import { connectDatabase } from '../../src/db/client.js'
import { listen } from '../../src/operations/listen.js'
import { runProcess } from '../../src/process.js'

// The least that can be accepted durably: one Express route with one insert, and as many connections as api/server.ts has.
await runProcess(async () => {
  const database = connectDatabase({ url: process.env.DATABASE_URL ?? '', name: 'bare api', max: 10 })
  await database`create table if not exists bench_posts (id bigint generated always as identity primary key, body jsonb not null)`
  const app = express()
  app.post('/posts', express.json(), async (request, response) => {
    const [row] = await database`insert into bench_posts (body) values (${database.json(request.body)}) returning id`
    response.status(202).json({ data: row })
  })
  const server = createServer(app)
  const port = await listen(server, { host: '127.0.0.1', port: 0, variable: 'PORT' })
  return {
    facts: { port },
    stopWithinMs: 10_000,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await database.end({ timeout: 5 })
    },
  }
})
