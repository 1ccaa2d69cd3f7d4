import { readFile } from 'node:fs/promises'
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker'

// Usage: replay-histories.ts WORKFLOWS HISTORY.json …  Exits 1 with the name of the first history these workflows do not replay.
const [workflowsPath = '', ...files] = process.argv.slice(2)
Runtime.install({ logger: new DefaultLogger('ERROR') })
const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })
for (const file of files) {
  const history: unknown = JSON.parse(await readFile(file, 'utf8'))
  try {
    await Worker.runReplayHistory({ workflowBundle: { code } }, history, 'delivery/replayed/1')
    process.stdout.write(`replayed ${file}\n`)
  } catch (error) {
    process.stderr.write(`${file}: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}\n`)
    process.exit(1)
  }
}
process.exit(0)
