import { readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { startChild, untilReady } from './child.js'
import { freePort } from './ports.js'
import { initialiseCluster, readPassword } from './postgres-cluster.js'
import { postgresPlace } from './postgres-user.js'
import { runningCommand } from './running-command.js'

export interface PostgresOptions {
  dataDir: string
  /** 0 picks a free one. */
  port: number
  /** False: faster, for throw-away data that need not survive a crash of the machine (one of PostgreSQL it does). */
  durable: boolean
  /** Further settings, as `name=value`. */
  settings?: string[]
  onLine?: (line: string) => void
}

export interface Postgres {
  port: number
  pid: number
  /** Where the data is. Differs from the wish where the user PostgreSQL runs under cannot reach it. */
  dataDir: string
  /** Connection string with user and password. */
  url(database: string): string
  /** Rejects with one sentence when PostgreSQL ends by itself. */
  exited: Promise<void>
  /** Fast shutdown; killed after 10 s. */
  stop(): Promise<void>
}

const notDurable = ['fsync=off', 'full_page_writes=off']

/** Starts the PostgreSQL of the npm package on loopback, creating its data first where there is none. Throws one sentence when it cannot. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { durable, onLine } = options
  const place = await postgresPlace(options.dataDir)
  const { dataDir, runAs } = place
  await initialiseCluster(place, durable)
  await refuseSecondStart(dataDir)

  const password = await readPassword(dataDir)
  const port = options.port === 0 ? await freePort() : options.port
  const url = (database: string): string =>
    `postgres://relay:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`

  const settings = [
    'unix_socket_directories=',
    'max_connections=200',
    'timezone=UTC',
    ...(durable ? [] : notDurable),
    ...(options.settings ?? []),
  ]
  const child = await startChild({
    name: 'PostgreSQL',
    command: join(place.bin, 'postgres'),
    args: ['-D', dataDir, '-p', String(port), '-h', '127.0.0.1', ...settings.flatMap((setting) => ['-c', setting])],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    cwd: dirname(dataDir),
    stopSignal: 'SIGINT',
    orphanSignal: 'SIGINT', // writes out what is committed and takes its own children along; SIGKILL does neither
    ...runAs,
    ...(onLine ? { onLine } : {}),
  })
  await untilReady(child, { name: 'PostgreSQL', probe: () => connectOnce(url('postgres')), timeoutMs: 60_000 })
  return { port, pid: child.pid, dataDir, url, exited: child.exited, stop: () => child.stop(10_000) }
}

async function connectOnce(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => undefined })
  try {
    await sql`select 1`
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** PostgreSQL judges by the pid alone; after a restart of the machine that pid may be any other program of the same user. */
async function refuseSecondStart(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, 'postmaster.pid')
  const deadline = Date.now() + 2_000 // one that is just shutting down is waited for
  for (;;) {
    const content = await readFile(pidFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (content === null) return
    const pid = Number(content.split('\n')[0])
    const command = await runningCommand(pid)
    if (command === null) return
    if (!command.includes('postgres')) return rm(pidFile, { force: true })
    if (Date.now() > deadline) {
      throw new Error(
        `PostgreSQL is already running on ${dataDir} as process ${pid}, from an earlier start; end it with: kill -INT ${pid}`,
      )
    }
    await sleep(50)
  }
}
