import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startChild } from '../../tools/stack/child.js'
import { freePort } from '../../tools/stack/ports.js'
import { until } from './until.js'

const scriptOf = { api: '../../api/server.ts', worker: '../../temporal/worker.ts' } as const

/** Starts one of our processes without waiting until it is ready, which it may never be; answers once its operators' port does. */
export async function startWaiting(name: keyof typeof scriptOf, env: NodeJS.ProcessEnv) {
  const metricsPort = await freePort()
  const logs: string[] = []
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  const child = await startChild({
    name,
    command: process.execPath,
    args: ['--import', tsx, fileURLToPath(new URL(scriptOf[name], import.meta.url))],
    env: { ...process.env, ...env, METRICS_PORT: String(metricsPort) },
    onLine: (line) => {
      logs.push(line)
      if (process.env.SHOW_LOGS) process.stderr.write(`${line}\n`)
    },
  })
  /** What its operators' port says; null while it does not listen. */
  const ask = async (path: '/healthz' | '/readyz') => {
    const response = await fetch(`http://127.0.0.1:${metricsPort}${path}`).catch(() => null)
    if (!response) return null
    const body = (await response.json()) as { status: string; checks?: Record<string, string> }
    return { code: response.status, ...body }
  }
  await until(`the operators' port of the ${name}`, () => ask('/healthz'))
  return {
    ...child,
    logs,
    ask,
    /** Whether it has neither ended nor been ended. */
    lives: () => child.process.exitCode === null && child.process.signalCode === null,
  }
}
