import { fileURLToPath } from 'node:url'
import { prefixLines } from './child.js'
import { startNodeProcess, type NodeProcess } from './node-process.js'

const scriptOf = { api: '../../api/server.ts', worker: '../../temporal/worker.ts' } as const

/** Starts one of our two processes with these variables and waits until it is ready. */
export async function startService(
  name: keyof typeof scriptOf,
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void = prefixLines(name),
): Promise<NodeProcess> {
  return startNodeProcess({ name, script: fileURLToPath(new URL(scriptOf[name], import.meta.url)), env, onLine })
}
