import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { NativeConnection, Worker } from '@temporalio/worker'
import { createDeliveryActivities } from '../activities/relay/deliveries.js'
import { readConfig, WORKER_METRICS_PORT, type Config } from '../src/config.js'
import { armCrashPoint } from '../src/crash-points.js'
import { connectDatabase } from '../src/db/client.js'
import { requireCurrentSchema } from '../src/db/migrate.js'
import { createLog, type Log } from '../src/log.js'
import { startOperations } from '../src/operations/operations.js'
import { runProcess } from '../src/process.js'
import { CallSlots } from '../src/relay/deliveries/call-slots.js'
import { rearmDelivery } from '../src/relay/deliveries/rearm.js'
import { createGateway } from '../src/relay/connections/reach-account.js'
import { createTemporalClient } from './connection.js'
import { startRelayLoop } from './relay-loop.js'
import { installRuntime } from './runtime.js'
import { startSweep } from './sweep.js'
import { publishQueue } from './task-queues.js'

const CACHED_RUNS = 500
/** What is still under way after its grace gets this long to heed its cancellation, and then loops and pools as long again. */
const LAST_THINGS_MS = 5_000

await runProcess(async () => {
  const config = readConfig(process.env, { metricsPort: WORKER_METRICS_PORT })
  const log = createLog({ name: 'worker', level: config.logLevel })
  const sdk = await installRuntime(log)
  const database = connectDatabase({ url: config.databaseUrl, name: 'worker', max: 20 })
  await requireCurrentSchema(database)

  const renewals = connectDatabase({ url: config.databaseUrl, name: 'worker renewals', max: 5 })
  const temporal = createTemporalClient(config.temporal)
  const taskQueue = publishQueue(config)
  const commander = { client: temporal.client, taskQueue, rearm: rearmDelivery.bind(null, database) }
  let worker: Worker | null = null
  // Before Temporal is there: while the worker waits for it, its probes say so.
  const operations = await startOperations({
    config,
    name: 'worker',
    checks: {
      temporal: { ask: temporal.ping, needed: true },
      worker: { ask: async () => requireRunning(worker), needed: true },
    },
    sources: { temporal_sdk: sdk },
    log,
  })
  const { readiness, metrics } = operations
  const relayLoop = startRelayLoop({ database, commander, outbox: config.outbox, log })
  const sweep = startSweep({ database, sweep: config.sweep, meter: metrics.sweep, log })

  const connection = await connectWhenUp(config.temporal.address, log)
  // Longer than a call may take, so that an orderly stop never leaves one unknown.
  const shutdownGraceTime = config.pace.callTimeoutMs + config.pace.callGraceMs
  const created = await Worker.create({
    connection,
    namespace: config.temporal.namespace,
    taskQueue,
    ...workflowsOf(config),
    activities: createDeliveryActivities({
      ...createGateway({ config, database, renewals, log }),
      pace: config.pace,
      gates: config.gates,
      slots: new CallSlots(config.gates),
      crash: armCrashPoint(config.crash),
      attempts: metrics.attempts,
      log,
    }),
    maxConcurrentActivityTaskExecutions: config.gates.publishSlots,
    maxCachedWorkflows: CACHED_RUNS,
    shutdownGraceTime,
    shutdownForceTime: shutdownGraceTime + LAST_THINGS_MS,
  })
  worker = created
  const running = created.run()
  running.catch((error: unknown) => {
    log.fatal({ error }, 'worker.ended')
    process.exit(1)
  })
  log.info({ task_queue: taskQueue, metrics_port: operations.port }, 'worker.polling')

  return {
    facts: { metricsPort: operations.port },
    stopWithinMs: shutdownGraceTime + 2 * LAST_THINGS_MS,
    async stop() {
      readiness.drain()
      log.info('worker.draining')
      created.shutdown()
      await running
      await Promise.all([relayLoop.stop(), sweep.stop()])
      await Promise.all([
        connection.close(),
        temporal.close(),
        ...[database, renewals].map((pool) => pool.end({ timeout: 5 })),
      ])
      await operations.stop()
    },
  }
})

/** Throws unless the Temporal Worker polls. */
function requireRunning(worker: Worker | null): void {
  const state = worker?.getState() ?? 'not yet created'
  if (state !== 'RUNNING') throw new Error(`The worker is ${state}`)
}

function workflowsOf({ workflowBundle }: Config) {
  return workflowBundle
    ? { workflowBundle: { codePath: workflowBundle } }
    : { workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)) }
}

async function connectWhenUp(address: string, log: Log): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect({ address })
    } catch (error) {
      log.warn({ error, address }, 'worker.waiting_for_temporal')
      await sleep(1_000)
    }
  }
}
