import { fileURLToPath } from 'node:url'
import { startStack, type Stack } from './stack/stack.js'

const started = performance.now()
const dataDir = process.env.DATA_DIR ?? fileURLToPath(new URL('../.data', import.meta.url))

/** Runs until Ctrl-C, or until a part ends by itself. */
async function runUntilStopped(stack: Stack): Promise<void> {
  const asked = new Promise<void>((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve)
  })
  try {
    await Promise.race([asked, stack.exited])
    process.stdout.write('\nStopping …\n')
  } finally {
    await stack.stop()
  }
}

try {
  const stack = await startStack({ dataDir, report: (line) => void process.stdout.write(`${line}\n`) })
  const { facts, operators } = stack
  const { api, temporal_ui, relay_api_key } = facts
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  process.stdout.write(`Ready after ${seconds} s. Ctrl-C stops everything.

  API          ${api}
  Temporal UI  ${temporal_ui ?? '(of the server you named)'}
  API key      ${relay_api_key}
  Metrics      ${operators.api}/metrics (api), ${operators.worker}/metrics (worker)

  These facts are also in ${dataDir}/dev.json.
`)
  await runUntilStopped(stack)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
process.exit()
