import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { z } from 'zod'
import type { ApiContext } from '../../../api/context.js'
import { mountRoutes } from '../../../api/http/mount.js'
import { route } from '../../../api/http/route.js'
import { createOrganisation } from '../../../src/accounts/repository.js'
import { createTestDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase
let server: Server

beforeAll(async () => {
  database = await createTestDatabase()
  const app = express()
  mountRoutes(app, { database: database.sql } as ApiContext, [readTwice, writeAnyway])
  app.use(((error: unknown, _request, response, _next) => {
    response.status(500).json({ code: (error as { code?: string }).code })
  }) satisfies express.ErrorRequestHandler)
  server = app.listen(0)
})
afterAll(async () => {
  server.close()
  await database.drop()
})

const count = { scope: null, summary: '', responds: { status: 200, data: z.array(z.int()) } } as const

const readTwice = route({
  ...count,
  method: 'get',
  path: '/v1/twice',
  async handle({ tx }) {
    const read = async () => (await tx<[{ count: number }]>`select count(*)::int as count from organisations`)[0].count
    const before = await read()
    await createOrganisation(database.sql, { name: 'made meanwhile' })
    return [before, await read()]
  },
})

const writeAnyway = route({
  ...count,
  method: 'post',
  audit: null,
  path: '/v1/anyway',
  async handle({ tx }) {
    await createOrganisation(tx, { name: 'by a route that writes nothing' })
    return []
  },
})

const ask = (path: string, method = 'GET') =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { method })

test('what a route reads in several statements is of one moment', async () => {
  const { data } = (await (await ask('/v1/twice')).json()) as { data: number[] }
  expect(data[1]).toBe(data[0])
})

test('a route that is not written down cannot write', async () => {
  const answer = await ask('/v1/anyway', 'POST')
  expect([answer.status, await answer.json()]).toEqual([500, { code: '25006' }])
})
