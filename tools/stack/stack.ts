import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { connectDatabase } from '../../src/db/client.js'
import { migrate } from '../../src/db/migrate.js'
import { SEARCH_ATTRIBUTES } from '../../temporal/task-queues.js'
import { bundleWorkflows } from './bundle.js'
import { openDevAccount } from './dev-account.js'
import type { NodeProcess } from './node-process.js'
import { assertPortFree, choosePort } from './ports.js'
import { startPostgres } from './postgres.js'
import { startService } from './services.js'
import { findTemporal } from './temporal-cli.js'
import { startTemporal } from './temporal.js'

/** What `.data/dev.json` holds. */
export interface DevFacts {
  api: string
  temporal_ui: string | null
  organisation_id: string
  relay_api_key: string
}

export interface Stack {
  facts: DevFacts
  /** Addresses of the ports for operators: metrics, health, readiness. */
  operators: { api: string; worker: string }
  /** What stands behind the API, for tools that look there. */
  parts: StackParts
  /** Rejects with one sentence when a part ends by itself. */
  exited: Promise<never>
  stop(): Promise<void>
}

interface StackParts {
  database: string
  temporal: string
  /** Process ids of ours. */
  api: number
  worker: number
}

export interface StackOptions {
  dataDir: string
  report: (line: string) => void
  /** More variables for api and worker. */
  env?: NodeJS.ProcessEnv
  /** Further settings of an own PostgreSQL, as `name=value`. */
  postgresSettings?: string[]
}

/** A part that was started, in order, so that it can be ended in the opposite one. */
interface Part {
  exited?: Promise<unknown>
  stop(): Promise<void>
}

/** Starts every part that the environment does not name already, then migrates, then api and worker. When a part fails to start, the
 *  others are stopped and its one sentence is thrown. */
export async function startStack({ dataDir, report, env = {}, postgresSettings = [] }: StackOptions): Promise<Stack> {
  const parts: Part[] = []
  const keep = <T extends Part>(part: T): T => {
    parts.push(part)
    return part
  }
  const stop = async () => {
    for (const part of parts.splice(0).reverse()) await part.stop()
  }
  try {
    const started = await startParts({ dataDir, report, env, postgresSettings, keep })
    const exited = Promise.race(parts.flatMap(({ exited }) => (exited ? [exited] : []))).then(
      () => new Promise<never>(() => undefined),
    )
    return { ...started, exited, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Starting extends Required<StackOptions> {
  keep: <T extends Part>(part: T) => T
}

async function startParts(starting: Starting): Promise<Pick<Stack, 'facts' | 'operators' | 'parts'>> {
  const { dataDir, report, env: more, keep, postgresSettings } = starting
  await mkdir(dataDir, { recursive: true })
  const port = await choosePort('PORT', 8080, 'the API')
  // Both settle before either may throw, so that a part that did start is known and stopped.
  const [database, temporal, bundle] = await allOrFirstError([
    openDatabase({ dataDir, postgresSettings, keep }),
    openTemporal({ dataDir, report, keep }),
    bundleWorkflows(),
  ])
  const api = `http://127.0.0.1:${port}`
  const account = await openDevAccount(database, await readFacts(dataDir))
  const env = {
    DATABASE_URL: database,
    TEMPORAL_ADDRESS: temporal.address,
    WORKFLOW_BUNDLE: bundle,
    SANDBOX_URL: process.env.SANDBOX_URL ?? api,
    MEDIA_DIR: process.env.MEDIA_DIR ?? join(dataDir, 'media'),
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
    PORT: String(port),
    DRAIN_MS: process.env.DRAIN_MS ?? '0',
    ...more,
  }
  const [apiProcess, worker] = await allOrFirstError([
    startService('api', { METRICS_PORT: process.env.METRICS_PORT || '0', ...env }).then(keep),
    startService('worker', { METRICS_PORT: process.env.WORKER_METRICS_PORT || '0', ...env }).then(keep),
  ])
  const facts = { api, temporal_ui: temporal.uiUrl, ...account }
  await writeFile(join(dataDir, 'dev.json'), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 })
  return {
    facts,
    operators: { api: operatorsOf(apiProcess), worker: operatorsOf(worker) },
    parts: { database, temporal: temporal.address, api: apiProcess.pid, worker: worker.pid },
  }
}

function operatorsOf({ facts }: NodeProcess): string {
  return `http://127.0.0.1:${String(facts['metricsPort'])}`
}

/** Waits for all, then throws the first error there was. */
async function allOrFirstError<T extends readonly unknown[]>(
  promises: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  await Promise.allSettled(promises)
  return Promise.all(promises) as unknown as Promise<T>
}

type OpeningDatabase = Pick<Starting, 'dataDir' | 'postgresSettings' | 'keep'>

async function openDatabase(opening: OpeningDatabase): Promise<string> {
  const given = process.env.DATABASE_URL
  const url = given || (await startOwnDatabase(opening))
  const database = connectDatabase({ url, name: 'migrate', max: 1 })
  try {
    await migrate(database)
  } finally {
    await database.end()
  }
  return url
}

async function startOwnDatabase({ dataDir, postgresSettings: settings, keep }: OpeningDatabase): Promise<string> {
  const port = Number(process.env.POSTGRES_PORT ?? 0)
  await assertPortFree(port, 'PostgreSQL', 'POSTGRES_PORT')
  const server = keep(await startPostgres({ dataDir: join(dataDir, 'postgres'), port, durable: true, settings }))
  const admin = postgres(server.url('postgres'), { max: 1 })
  try {
    const [there] = await admin`select 1 from pg_database where datname = 'relay'`
    if (!there) await admin`create database relay`
  } finally {
    await admin.end()
  }
  return server.url('relay')
}

async function openTemporal({
  dataDir,
  report,
  keep,
}: Omit<Starting, 'env' | 'postgresSettings'>): Promise<{ address: string; uiUrl: string | null }> {
  const given = process.env.TEMPORAL_ADDRESS
  if (given) return { address: given, uiUrl: process.env.TEMPORAL_UI_URL ?? null }
  const port = await choosePort('TEMPORAL_PORT', 7233, 'Temporal')
  const uiPort = await choosePort('TEMPORAL_UI_PORT', 8233, 'the Temporal UI')
  const binary = await findTemporal(report)
  return keep(
    await startTemporal({
      binary,
      databaseFile: join(dataDir, 'temporal.sqlite'),
      port,
      uiPort,
      searchAttributes: [...SEARCH_ATTRIBUTES],
      namespace: process.env.TEMPORAL_NAMESPACE ?? 'default',
    }),
  )
}

async function readFacts(dataDir: string): Promise<Partial<DevFacts>> {
  try {
    return JSON.parse(await readFile(join(dataDir, 'dev.json'), 'utf8')) as Partial<DevFacts>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return {}
    throw error
  }
}
