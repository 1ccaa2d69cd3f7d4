import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { killWithParent } from './kill-with-parent.js'

export interface ChildOptions {
  /** Names the process in errors. */
  name: string
  command: string
  args: string[]
  /** The whole environment of the child. */
  env: NodeJS.ProcessEnv
  cwd?: string
  uid?: number
  gid?: number
  /** Opens a channel for `process.send`. */
  ipc?: boolean
  /** What `stop` sends first. Default SIGTERM. */
  stopSignal?: NodeJS.Signals
  /** What it gets when this process exits without stopping it. Default SIGKILL. */
  orphanSignal?: NodeJS.Signals
  /** Every line of its output and error output. */
  onLine?: (line: string) => void
}

export interface Child {
  pid: number
  process: ChildProcess
  /** Resolves when it ends after `stop` or `kill`; rejects with one sentence when it ends by itself. */
  exited: Promise<void>
  /** The last lines of its error output (of all its output where that is empty), for a message. */
  lastLines(): string
  /** Asks it to end, kills it after `graceMs` (default 10 000). Resolves once it is gone. */
  stop(graceMs?: number): Promise<void>
  kill(signal: NodeJS.Signals): void
}

/** Starts a helper process that never outlives this one. Throws one sentence when it cannot be started at all. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, command, args, onLine, ipc, stopSignal = 'SIGTERM', orphanSignal = 'SIGKILL', ...rest } = options
  // In a group of its own: Ctrl-C in a terminal reaches this process alone, which then ends the parts in order.
  const child = spawn(command, args, {
    ...rest,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
  })
  const output = new LastLines(onLine)
  output.read(child.stdout, 'all')
  output.read(child.stderr, 'errors')

  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(new Error(`${name} could not be started: ${error.message}.`)))
  })
  killWithParent(child, orphanSignal)

  let ending = false
  // 'close' and not 'exit': only then has its last output been read.
  const closed = new Promise<string>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ? `by ${signal}` : `with code ${code}`))
  })
  const exited = closed.then((how) => {
    if (!ending) throw new Error(`${name} ended unexpectedly ${how}${output.tail()}`)
  })
  // Whoever cares awaits `exited`; without this line, a caller who does not would be ended by the rejection.
  exited.catch(() => undefined)

  const kill = (signal: NodeJS.Signals): void => {
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') ending = true
    child.kill(signal)
  }
  return {
    pid: child.pid as number,
    process: child,
    exited,
    lastLines: () => output.tail(),
    kill,
    async stop(graceMs = 10_000) {
      if (child.exitCode === null && child.signalCode === null) kill(stopSignal)
      const alarm = setTimeout(() => kill('SIGKILL'), graceMs)
      await closed
      clearTimeout(alarm)
    },
  }
}

/** Repeats `probe` until it answers. Ends the child and throws one sentence when it exits first or `timeoutMs` pass. */
export async function untilReady<T>(
  child: Child,
  options: { name: string; probe: () => Promise<T>; timeoutMs: number },
): Promise<T> {
  const { name, probe, timeoutMs } = options
  const deadline = Date.now() + timeoutMs
  const gone = child.exited.then(() => {
    throw new Error(`${name} was stopped before it was ready.`)
  })
  gone.catch(() => undefined) // raced below; it also rejects at the ordinary end, when nobody waits any more
  for (;;) {
    try {
      return await Promise.race([probe(), gone])
    } catch (error) {
      await Promise.race([sleep(25), gone])
      if (Date.now() < deadline) continue
      child.kill('SIGKILL')
      const reason = error instanceof Error ? error.message : String(error)
      throw new Error(`${name} was not ready after ${timeoutMs / 1000} s (${reason})${child.lastLines()}`, {
        cause: error,
      })
    }
  }
}

/** Waits for a program that is to end by itself. Throws `failure` and its last lines when it did not end well, or was killed. */
export async function succeeded(child: Child, failure: string): Promise<void> {
  const cause = await child.exited.catch((error: unknown) => error)
  if (child.process.exitCode !== 0) throw new Error(`${failure}${child.lastLines()}`, { cause })
}

/** For `onLine`: writes each line with the process's name before it. */
export function prefixLines(name: string, write: (line: string) => void = console.log): (line: string) => void {
  return (line) => write(`[${name}] ${line}`)
}

class LastLines {
  private readonly lines = { all: [] as string[], errors: [] as string[] }

  constructor(private readonly onLine?: (line: string) => void) {}

  read(stream: NodeJS.ReadableStream | null, into: 'all' | 'errors'): void {
    if (!stream) return
    createInterface({ input: stream }).on('line', (line) => {
      const kept = this.lines[into]
      kept.push(line)
      if (kept.length > 8) kept.shift()
      this.onLine?.(line)
    })
  }

  tail(): string {
    const { all, errors } = this.lines
    const lines = errors.length > 0 ? errors : all
    return lines.length > 0 ? `; its last lines:\n  ${lines.join('\n  ')}` : ' and said nothing.'
  }
}
