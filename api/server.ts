import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readConfig } from '../src/config.js'
import { armCrashPoint } from '../src/crash-points.js'
import { connectDatabase } from '../src/db/client.js'
import { requireCurrentSchema } from '../src/db/migrate.js'
import { createLog } from '../src/log.js'
import { runProcess } from '../src/process.js'
import { rearmDelivery } from '../src/relay/deliveries/rearm.js'
import { createGateway } from '../src/relay/connections/reach-account.js'
import { createTemporalClient } from '../temporal/connection.js'
import { startRelayLoop } from '../temporal/relay-loop.js'
import { startSweep } from '../temporal/sweep.js'
import { publishQueue } from '../temporal/task-queues.js'
import { createApp } from './app.js'
import { OnlyOnce } from './http/idempotency.js'
import { RateLimiter } from './http/rate-limit.js'

await runProcess(async () => {
  const config = readConfig(process.env)
  const log = createLog({ name: 'api', level: config.logLevel })
  const database = connectDatabase({ url: config.databaseUrl, name: 'api', max: 10 })
  await requireCurrentSchema(database)
  const sandboxDatabase = connectDatabase({ url: config.databaseUrl, name: 'sandbox', max: 5 })
  const renewals = connectDatabase({ url: config.databaseUrl, name: 'api renewals', max: 5 })
  const temporal = createTemporalClient(config.temporal)
  const commander = {
    client: temporal.client,
    taskQueue: publishQueue(config),
    rearm: rearmDelivery.bind(null, database),
  }
  const relayLoop = startRelayLoop({ database, commander, outbox: config.outbox, log })
  const sweep = startSweep({ database, sweep: config.sweep, log })

  const app = createApp({
    config,
    database,
    sandboxDatabase,
    gateway: createGateway({ config, database, renewals }),
    rateLimiter: new RateLimiter(database),
    onlyOnce: new OnlyOnce(database),
    relayLoop,
    crash: armCrashPoint(config.crash),
    log,
  })
  const server = createServer(app)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(config.port, config.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  log.info({ host: config.host, port }, 'api.listening')

  return {
    facts: { port },
    async stop() {
      server.closeIdleConnections()
      await new Promise((resolve) => server.close(resolve))
      await Promise.all([relayLoop.stop(), sweep.stop()])
      const pools = [database, sandboxDatabase, renewals]
      await Promise.all([...pools.map((pool) => pool.end({ timeout: 5 })), temporal.close()])
    },
  }
})
