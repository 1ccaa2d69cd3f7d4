import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'

// Usage: bundle-next-release.ts FILE PATCH. Bundles today's workflows with one change, as a next release would make it: behind `patched`, deliverPost waits
// for a moment before it publishes, which its history records.
const [file = '', patch = ''] = process.argv.slice(2)
const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = join(root, '.cache', `next-release-${process.pid}`)

const CHANGES = [
  ['import { condition,', 'import { patched, sleep, condition,'],
  ['    const step = await publish', `    if (patched('${patch}')) await sleep(1)\n    const step = await publish`],
] as const

try {
  await mkdir(folder, { recursive: true })
  await cp(join(root, 'workflows'), join(folder, 'workflows'), { recursive: true })
  for (const name of ['src', 'activities']) await symlink(join(root, name), join(folder, name))
  const path = join(folder, 'workflows/relay/deliver-post.ts')
  await writeFile(path, CHANGES.reduce(change, await readFile(path, 'utf8')))
  const workflowsPath = join(folder, 'workflows/index.ts')
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })
  await writeFile(file, code)
} finally {
  await rm(folder, { recursive: true, force: true })
}

function change(text: string, [old, next]: readonly [string, string]): string {
  if (text.split(old).length !== 2) throw new Error(`deliver-post.ts does not have once what is to be changed: ${old}`)
  return text.replace(old, next)
}
