import { readConfig } from '../src/config.js'
import { armCrashPoint } from '../src/crash-points.js'
import { isAway } from '../src/db/away.js'
import { connectDatabase } from '../src/db/client.js'
import { requireCurrentSchema } from '../src/db/migrate.js'
import { createLog } from '../src/log.js'
import { startOperations } from '../src/operations/operations.js'
import { untilThere } from '../src/operations/until-there.js'
import { runProcess } from '../src/process.js'
import { rearmDelivery } from '../src/relay/deliveries/rearm.js'
import { createUrlSigner } from '../src/relay/media/signed-url.js'
import { openStore } from '../src/storage/open-store.js'
import { createGateway } from '../src/relay/connections/reach-account.js'
import { createTemporalClient } from '../temporal/connection.js'
import { startRelayLoop } from '../temporal/relay-loop.js'
import { startSweep } from '../temporal/sweep.js'
import { publishQueue, webhookQueues } from '../temporal/task-queues.js'
import { createApp } from './app.js'
import { OnlyOnce } from './http/idempotency.js'
import { RateLimiter } from './http/rate-limit.js'
import { startHttpServer } from './http/server.js'

/** What is under way when the api has stopped listening may take this long, and then loops and pools the rest. */
const LAST_REQUESTS_MS = 25_000
const LAST_THINGS_MS = 15_000

await runProcess(async () => {
  const config = readConfig(process.env)
  const log = createLog({ name: 'api', level: config.logLevel })
  const database = connectDatabase({ url: config.databaseUrl, name: 'api', max: 10 })
  const sandboxDatabase = connectDatabase({ url: config.databaseUrl, name: 'sandbox', max: 5 })
  const renewals = connectDatabase({ url: config.databaseUrl, name: 'api renewals', max: 5 })
  const blobs = openStore(config.media)
  const temporal = createTemporalClient(config.temporal)
  const operations = await startOperations({
    config,
    name: 'api',
    blobs,
    // Posts are accepted while Temporal is away (docs/decisions/0007).
    checks: { temporal: { ask: temporal.ping, needed: false } },
    log,
  })
  const { readiness, metrics } = operations
  await untilThere({ part: 'database', ask: () => requireCurrentSchema(database), isAway, log })
  const commander = {
    client: temporal.client,
    taskQueue: publishQueue(config),
    webhookQueues: webhookQueues(config),
    rearm: rearmDelivery.bind(null, database),
  }
  const relayLoop = startRelayLoop({ database, commander, outbox: config.outbox, log })
  const sweep = startSweep({ database, blobs, sweep: config.sweep, meter: metrics.sweep, log })

  const app = createApp({
    config,
    database,
    sandboxDatabase,
    blobs,
    signer: createUrlSigner(config),
    gateway: createGateway({ config, database, renewals, log }),
    rateLimiter: new RateLimiter(database, metrics.requests),
    onlyOnce: new OnlyOnce(database),
    relayLoop,
    readiness,
    requests: metrics.requests,
    crash: armCrashPoint(config.crash),
    log,
  })
  const server = await startHttpServer(app, config)
  readiness.started()
  log.info({ host: config.host, port: server.port, metrics_port: operations.port }, 'api.listening')

  return {
    facts: { port: server.port, metricsPort: operations.port },
    stopWithinMs: config.drainMs + LAST_REQUESTS_MS + LAST_THINGS_MS,
    async stop() {
      readiness.drain()
      log.info({ drain_ms: config.drainMs }, 'api.draining')
      await server.stop({ drainMs: config.drainMs, lastMs: LAST_REQUESTS_MS })
      await Promise.all([relayLoop.stop(), sweep.stop()])
      const pools = [database, sandboxDatabase, renewals]
      await Promise.all([...pools.map((pool) => pool.end({ timeout: 5 })), temporal.close()])
      await operations.stop()
    },
  }
})
