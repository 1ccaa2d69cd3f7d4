import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { startChild, untilReady, type Child, type ChildOptions } from './child.js'

export interface NodeProcess extends Child {
  /** What it sent beside `ready: true`. */
  facts: Record<string, unknown>
}

export interface NodeProcessOptions {
  name: string
  /** Path of a .ts, .js or .mjs file. */
  script: string
  /** Added to this process's own environment; undefined takes a variable away. */
  env: NodeJS.ProcessEnv
  cwd?: string
  onLine?: (line: string) => void
  /** Default 60 000. */
  readyWithinMs?: number
}

/** Starts one of our own programs from its source and waits for its `process.send({ ready: true, … })`. Throws one sentence with its last lines if it ends first. */
export async function startNodeProcess(options: NodeProcessOptions): Promise<NodeProcess> {
  const { script, env, readyWithinMs = 60_000, ...rest } = options
  // By file URL: the bare name would be looked up from the child's working folder.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  return startUntilReady({
    ...rest,
    command: process.execPath,
    args: ['--import', tsx, script],
    env: { ...process.env, ...env },
    readyWithinMs,
  })
}

/** Starts a program of ours, however it is run, and waits for the same. */
export async function startUntilReady(options: ChildOptions & { readyWithinMs: number }): Promise<NodeProcess> {
  const { name, readyWithinMs } = options
  const child = await startChild({ ...options, ipc: true })
  const ready = new Promise<Record<string, unknown>>((resolve) => {
    child.process.on('message', (message) => {
      if (isReady(message)) resolve(message)
    })
  })
  const probe = (): Promise<Record<string, unknown>> => within(readyWithinMs, ready)
  return { ...child, facts: await untilReady(child, { name, probe, timeoutMs: readyWithinMs }) }
}

function isReady(message: unknown): message is Record<string, unknown> {
  return typeof message === 'object' && message !== null && 'ready' in message && message.ready === true
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let alarm: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    // It outlives a start that is refused, and must not keep this process for it.
    alarm = setTimeout(() => reject(new Error('it sent no ready message')), ms).unref()
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(alarm))
}
