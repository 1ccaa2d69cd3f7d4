import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { startChild, untilReady, type Child } from './child.js'

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

/** Starts one of our own programs and waits for its `process.send({ ready: true, … })`. Throws one sentence with its last lines if it ends first. */
export async function startNodeProcess(options: NodeProcessOptions): Promise<NodeProcess> {
  const { name, script, env, cwd, onLine, readyWithinMs = 60_000 } = options
  // By file URL: the bare name would be looked up from the child's working folder.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  const child = await startChild({
    name,
    command: process.execPath,
    args: ['--import', tsx, script],
    env: { ...process.env, ...env },
    ipc: true,
    ...(cwd === undefined ? {} : { cwd }),
    ...(onLine === undefined ? {} : { onLine }),
  })
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
    alarm = setTimeout(() => reject(new Error('it sent no ready message')), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(alarm))
}
