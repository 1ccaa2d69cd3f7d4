import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { startChild, untilReady } from './child.js'
import { freePort } from './ports.js'
import { runningCommand } from './running-command.js'
import { assertTemporalReady } from './temporal-ready.js'

export interface TemporalOptions {
  /** The Temporal CLI, as `findTemporal` answers it. */
  binary: string
  /** Undefined: in memory, gone at the end. */
  databaseFile: string | undefined
  /** 0 picks a free one. */
  port: number
  /** 0 picks a free one. */
  uiPort: number
  /** Names of Keyword attributes. */
  searchAttributes: string[]
  namespace: string
  onLine?: (line: string) => void
}

export interface Temporal {
  /** host:port of the gRPC service. */
  address: string
  uiUrl: string
  pid: number
  /** Rejects with one sentence when the server ends by itself. */
  exited: Promise<void>
  /** Ends the server; killed after `graceMs`, 10 s by default. */
  stop(graceMs?: number): Promise<void>
}

/** Starts Temporal's development server with its UI, on loopback. Throws one sentence with its last lines when it ends before it is ready. */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  const { binary, searchAttributes, namespace, onLine } = options
  const databaseFile = options.databaseFile === undefined ? undefined : resolve(options.databaseFile)
  let stopping = false
  if (databaseFile !== undefined) await refuseSecondStart(databaseFile)
  const [port, uiPort, httpPort, metricsPort] = await Promise.all([
    options.port || freePort(),
    options.uiPort || freePort(),
    freePort(),
    freePort(),
  ])
  const child = await startChild({
    name: 'Temporal',
    command: binary,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--headless=false', '--log-level', 'warn', '--color', 'never'],
      ...['--port', String(port), '--ui-port', String(uiPort)],
      ...['--http-port', String(httpPort), '--metrics-port', String(metricsPort)],
      ...['--namespace', namespace],
      // With SQLite's own defaults the server is up to ten times slower.
      ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
      ...(databaseFile === undefined ? [] : ['--db-filename', databaseFile]),
      ...searchAttributes.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ],
    env: withoutTemporalSettings(process.env),
    // While it stops, its parts complain about each other at length.
    onLine: (line) => stopping || onLine?.(line),
  })
  if (databaseFile !== undefined) await writeFile(pidFileOf(databaseFile), `${child.pid}\n`)

  const address = `127.0.0.1:${port}`
  const probe = (): Promise<void> => assertTemporalReady({ address, namespace, searchAttributes })
  await untilReady(child, { name: 'Temporal', probe, timeoutMs: 60_000 })
  return {
    address,
    uiUrl: `http://127.0.0.1:${uiPort}`,
    pid: child.pid,
    exited: child.exited,
    stop(graceMs = 10_000) {
      stopping = true
      return child.stop(graceMs)
    },
  }
}

/** The CLI reads TEMPORAL_ADDRESS and its like as defaults of its flags; they are meant for us. */
function withoutTemporalSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')))
}

function pidFileOf(databaseFile: string): string {
  return `${databaseFile}.pid`
}

/** Two servers on one database file both start, and both believe they own every workflow in it. */
async function refuseSecondStart(databaseFile: string): Promise<void> {
  await mkdir(dirname(databaseFile), { recursive: true })
  const pid = await readFile(pidFileOf(databaseFile), 'utf8').then(Number, (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (pid && (await runningCommand(pid))?.includes(databaseFile)) {
    throw new Error(
      `Temporal is already running on ${databaseFile} as process ${pid}, from an earlier start; end it with: kill ${pid}`,
    )
  }
}
