import type { Config } from '../config.js'
import type { Log } from '../log.js'
import { backlogSource } from './backlog-metrics.js'
import { createMetrics, type Metrics, type Source } from './metrics.js'
import { startOperatorServer } from './operator-server.js'
import { DatabaseProbe } from './probe.js'
import { Readiness, type Check } from './readiness.js'

/** What a process shows those who run it. */
export interface Operations {
  readiness: Readiness
  metrics: Metrics
  /** Where it is shown. */
  port: number
  stop(): Promise<void>
}

interface OperationsOptions {
  config: Config
  /** Of the process, as `pg_stat_activity` shows it. */
  name: string
  /** What readiness hangs on beside the database. */
  checks: Record<string, Check>
  sources?: Record<string, Source>
  log: Log
}

/** Opens the operators' port of a process. Throws one sentence when it is taken. */
export async function startOperations({ config, name, checks, sources, log }: OperationsOptions): Promise<Operations> {
  const url = config.databaseUrl
  // Two, so that a count that takes its time does not make the process look unready.
  const probe = new DatabaseProbe({ url, name: `${name} probe` })
  const counter = new DatabaseProbe({ url, name: `${name} metrics` })
  const readiness = new Readiness({ database: { ask: () => probe.ping(), needed: true }, ...checks }, log)
  const metrics = createMetrics({ sources: { backlog: backlogSource(counter, config.sweep), ...sources }, log })
  const server = await startOperatorServer({ at: config.metrics, readiness, metrics })
  return {
    readiness,
    metrics,
    port: server.port,
    async stop() {
      await Promise.all([server.stop(), probe.end(), counter.end()])
    },
  }
}
