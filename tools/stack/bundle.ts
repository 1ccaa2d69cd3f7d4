import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Everything a workflow may import lies in these; the lock file stands for the SDK. */
const SOURCES = ['workflows', 'src', 'package-lock.json']

/** The workflows as one file for `WORKFLOW_BUNDLE`, made anew only when a source has changed: bundling takes longer than starting a worker. */
export async function bundleWorkflows(): Promise<string> {
  const folder = join(root, '.cache')
  const path = join(folder, `workflows-${await hashSources()}.cjs`)
  if (await exists(path)) return path
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(root, 'workflows/index.ts'),
    logger: new DefaultLogger('ERROR'),
  })
  await mkdir(folder, { recursive: true })
  // Written beside and renamed: two starts at once each leave a whole file.
  await writeFile(`${path}.${process.pid}`, code)
  await rename(`${path}.${process.pid}`, path)
  return path
}

async function hashSources(): Promise<string> {
  const hash = createHash('sha256')
  for (const source of SOURCES) for (const file of await filesOf(join(root, source))) hash.update(await readFile(file))
  return hash.digest('hex').slice(0, 16)
}

async function filesOf(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path]
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
