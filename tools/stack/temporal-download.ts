import { mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { startChild } from './child.js'

export interface TemporalDownload {
  version: string
  /** Where the finished program goes. */
  binary: string
  report: (line: string) => void
  env: NodeJS.ProcessEnv
  /** How long until the first bytes, and between two lots of bytes. Defaults 10 000 and 30 000. */
  patience?: { beginMs: number; stallMs: number }
}

export type DownloadResult = { done: true } | { done: false; reason: string }

// `--help` makes the downloaded program print a page and end: the SDK then finds no server, and none is left running.
const program = `
  const { TestWorkflowEnvironment } = await import(process.env.TESTING_MODULE)
  const executable = { type: 'cached-download', downloadDir: process.env.DOWNLOAD_DIR, version: process.env.DOWNLOAD_VERSION }
  await TestWorkflowEnvironment.createLocal({ server: { executable, extraArgs: ['--help'] } })
`

/** The download that @temporalio/testing makes, in a process of its own because it cannot be called off. A network that is closed or too slow is an answer, not an error. */
export async function downloadTemporal(options: TemporalDownload): Promise<DownloadResult> {
  const { version, binary, report, env, patience = { beginMs: 10_000, stallMs: 30_000 } } = options
  const folder = await mkdtemp(`${binary}.download-`)
  const file = join(folder, `temporal-v${version}`)
  const child = await startChild({
    name: 'Temporal download',
    command: process.execPath,
    args: ['--input-type=module', '--eval', program],
    env: {
      ...env,
      TESTING_MODULE: pathToFileURL(createRequire(import.meta.url).resolve('@temporalio/testing')).href,
      DOWNLOAD_DIR: folder,
      DOWNLOAD_VERSION: `v${version}`,
    },
  })
  const watch = { size: 0, movedAt: Date.now() }
  try {
    for (;;) {
      // The SDK renames the file when it is whole.
      if ((await sizeOf(file)) > 0) {
        await rename(file, binary)
        return { done: true }
      }
      if (child.process.exitCode !== null) return { done: false, reason: 'no answer from temporal.download' }

      const size = await sizeOf(`${file}.downloading`)
      if (size > 0 && watch.size === 0) report(`Downloading Temporal ${version}; it is kept in ${dirname(binary)}.`)
      if (size > watch.size) Object.assign(watch, { size, movedAt: Date.now() })
      if (Date.now() - watch.movedAt > (watch.size === 0 ? patience.beginMs : patience.stallMs)) {
        return {
          done: false,
          reason: watch.size === 0 ? `it did not begin within ${patience.beginMs / 1000} s` : 'it came to a halt',
        }
      }
      await sleep(100)
    }
  } finally {
    child.kill('SIGKILL')
    await child.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return 0
      throw error
    },
  )
}
