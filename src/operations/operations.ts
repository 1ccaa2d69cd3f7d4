import type { Config } from '../config.js'
import type { Log } from '../log.js'
import type { BlobStore } from '../storage/blob-store.js'
import { backlogSource } from './backlog-metrics.js'
import { createMetrics, type Metrics, type Source } from './metrics.js'
import { startOperatorServer } from './operator-server.js'
import { CHECK_WITHIN_MS, DatabaseProbe, within } from './probe.js'
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
  blobs: BlobStore
  /** What readiness hangs on beside the database and the files. */
  checks: Record<string, Check>
  sources?: Record<string, Source>
  log: Log
}

/** Opens the operators' port of a process. Throws one sentence when it is taken. */
export async function startOperations(options: OperationsOptions): Promise<Operations> {
  const { config, name, blobs, checks, sources, log } = options
  const url = config.databaseUrl
  // Two, so that a count that takes its time does not make the process look unready.
  const probe = new DatabaseProbe({ url, name: `${name} probe` })
  const counter = new DatabaseProbe({ url, name: `${name} metrics` })
  const database = { ask: () => probe.ping(), needed: true }
  const readiness = new Readiness({ database, storage: storageCheck(blobs), ...checks }, log)
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

/** Without it uploads answer 503 and a delivery with media waits; posts without any are accepted and published. */
function storageCheck(blobs: BlobStore): Check {
  // The store's own bound ends the request; a folder that hangs has none.
  const ask = () => within(CHECK_WITHIN_MS, blobs.ping(CHECK_WITHIN_MS))
  return { ask, needed: false, freshMs: 10_000 }
}
