import { fileURLToPath } from 'node:url'
import { Worker } from '@temporalio/worker'
import { createDeliveryActivities } from '../activities/relay/deliveries.js'
import { createLaneActivities } from '../activities/webhooks/lanes.js'
import { readConfig, WORKER_METRICS_PORT, type Config } from '../src/config.js'
import { armCrashPoint } from '../src/crash-points.js'
import { isAway } from '../src/db/away.js'
import { connectDatabase, type Database } from '../src/db/client.js'
import { requireCurrentSchema } from '../src/db/migrate.js'
import { createEgressClient } from '../src/egress/egress.js'
import { createLog, type Log } from '../src/log.js'
import type { Metrics } from '../src/operations/metrics.js'
import { startOperations } from '../src/operations/operations.js'
import { untilThere } from '../src/operations/until-there.js'
import { runProcess } from '../src/process.js'
import { CallSlots } from '../src/relay/deliveries/call-slots.js'
import { rearmDelivery } from '../src/relay/deliveries/rearm.js'
import { openStore } from '../src/storage/open-store.js'
import { createGateway } from '../src/relay/connections/reach-account.js'
import { BATCH_MS } from '../src/webhooks/deliveries/send-webhooks.js'
import { createTemporalClient } from './connection.js'
import { createLaneWorkers } from './lane-workers.js'
import { startRelayLoop } from './relay-loop.js'
import { runWorkers, type RunningWorkers } from './run-workers.js'
import { installRuntime } from './runtime.js'
import { startSweep } from './sweep.js'
import { publishQueue, webhookQueues } from './task-queues.js'
import { connectWorker } from './worker-connection.js'

const CACHED_RUNS = 500
/** What is still under way after its grace gets this long to heed its cancellation, and then loops and pools as long again. */
const LAST_THINGS_MS = 5_000

await runProcess(async () => {
  const config = readConfig(process.env, { metricsPort: WORKER_METRICS_PORT })
  const log = createLog({ name: 'worker', level: config.logLevel })
  const sdk = await installRuntime(log)
  const database = connectDatabase({ url: config.databaseUrl, name: 'worker', max: 20 })
  const renewals = connectDatabase({ url: config.databaseUrl, name: 'worker renewals', max: 5 })
  const lanes = connectDatabase({ url: config.databaseUrl, name: 'worker webhooks', max: 10 })
  const blobs = openStore(config.media)
  const temporal = createTemporalClient(config.temporal)
  const taskQueue = publishQueue(config)
  const commander = {
    client: temporal.client,
    taskQueue,
    webhookQueues: webhookQueues(config),
    rearm: rearmDelivery.bind(null, database),
  }
  let workers: RunningWorkers | null = null
  // Before anything else is there: while the worker waits for it, its probes say so.
  const operations = await startOperations({
    config,
    name: 'worker',
    blobs,
    checks: {
      temporal: { ask: temporal.ping, needed: true },
      worker: { ask: async () => requirePolling(workers), needed: true },
    },
    sources: { temporal_sdk: sdk },
    log,
  })
  const { readiness, metrics } = operations
  await untilThere({ part: 'database', ask: () => requireCurrentSchema(database), isAway, log })
  // Whatever it is: an address, a key or a namespace that is wrong today may be right in a minute.
  const connection = await untilThere({
    part: 'temporal',
    ask: () => connectWorker(config.temporal),
    isAway: () => true,
    log,
  })
  // Longer than a call may take, so that an orderly stop never leaves one unknown.
  const shutdownGraceTime = Math.max(
    config.pace.callTimeoutMs + config.pace.callGraceMs,
    config.webhooks.timeoutMs + BATCH_MS,
  )
  const common = {
    connection,
    namespace: config.temporal.namespace,
    shutdownGraceTime,
    shutdownForceTime: shutdownGraceTime + LAST_THINGS_MS,
  }
  const publishing = await Worker.create({
    ...common,
    taskQueue,
    ...workflowsOf(config),
    activities: createDeliveryActivities({
      ...createGateway({ config, database, renewals, log }),
      blobs,
      media: config.media,
      pace: config.pace,
      gates: config.gates,
      slots: new CallSlots(config.gates),
      crash: armCrashPoint(config.crash),
      attempts: metrics.attempts,
      log,
    }),
    maxConcurrentActivityTaskExecutions: config.gates.publishSlots,
    maxCachedWorkflows: CACHED_RUNS,
  })
  const sending = await createLaneWorkers({
    ...common,
    activities: laneActivities({ config, database: lanes, metrics, log }),
    slots: config.webhooks.slots,
  })
  const running = runWorkers({ workers: [publishing, ...sending], connection })
  workers = running
  running.failed.catch((error: unknown) => log.fatal({ error }, 'worker.failed'))
  // Not earlier: until here nothing is under way, and an end may come at any moment (src/process.ts).
  const relayLoop = startRelayLoop({ database, commander, outbox: config.outbox, log })
  const sweep = startSweep({ database, blobs, sweep: config.sweep, meter: metrics.sweep, log })
  readiness.started()
  log.info({ task_queue: taskQueue, metrics_port: operations.port }, 'worker.polling')

  return {
    facts: { metricsPort: operations.port },
    failed: running.failed,
    stopWithinMs: shutdownGraceTime + 2 * LAST_THINGS_MS,
    async stop() {
      readiness.drain()
      log.info('worker.draining')
      await running.stop()
      await Promise.all([relayLoop.stop(), sweep.stop()])
      const pools = [database, renewals, lanes]
      await Promise.all([temporal.close(), ...pools.map((pool) => pool.end({ timeout: 5 }))])
      await operations.stop()
    },
  }
})

/** Throws unless the Temporal Workers were made and poll. */
function requirePolling(workers: RunningWorkers | null): void {
  if (!workers) throw new Error('The worker is not yet created')
  workers.requirePolling()
}

/** The activities of each queue that sends webhooks. */
function laneActivities({
  config,
  database,
  metrics,
  log,
}: {
  config: Config
  database: Database
  metrics: Metrics
  log: Log
}) {
  const queues = webhookQueues(config)
  const sender = {
    database,
    client: createEgressClient({ allow: config.egressAllow }),
    keys: config.keyEncryptionKeys,
    pace: config.webhooks,
    crash: armCrashPoint(config.crash),
    meter: metrics.webhooks,
    log,
  }
  return {
    [queues.healthy]: createLaneActivities(sender, { failing: false }),
    [queues.failing]: createLaneActivities(sender, { failing: true }),
  }
}

function workflowsOf({ workflowBundle }: Config) {
  return workflowBundle
    ? { workflowBundle: { codePath: workflowBundle } }
    : { workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)) }
}
