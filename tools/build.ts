import { execFile } from 'node:child_process'
import { cp, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'

const root = fileURLToPath(new URL('../', import.meta.url))
const at = (path: string) => `${root}${path}`

// What the image runs: compiled JavaScript, the migrations beside it, and the workflows as one file, so that no worker bundles at its start.
await rm(at('dist'), { recursive: true, force: true })
await promisify(execFile)(process.execPath, [
  at('node_modules/typescript/bin/tsc'),
  '--project',
  at('tsconfig.build.json'),
])
await cp(at('src/db/migrations'), at('dist/src/db/migrations'), { recursive: true })
const { code } = await bundleWorkflowCode({
  workflowsPath: at('dist/workflows/index.js'),
  logger: new DefaultLogger('ERROR'),
})
await writeFile(at('dist/workflows.cjs'), code)
process.stdout.write('Built dist\n')
