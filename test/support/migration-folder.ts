import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readMigrations } from '../../src/db/migration-files.js'

/** A release's migrations in a folder of a test's own: these files, beside those of this code if it is the next release. */
export async function migrationFolder(files: Record<string, string>, { nextRelease = false } = {}) {
  const path = await mkdtemp(join(tmpdir(), 'relay-migrations-'))
  const known = nextRelease ? await readMigrations() : []
  const all = [...known.map(({ name, text }) => [name, text] as const), ...Object.entries(files)]
  await Promise.all(all.map(([name, text]) => writeFile(join(path, name), text)))
  return {
    url: pathToFileURL(`${path}/`),
    change: (name: string, text: string) => writeFile(join(path, name), text),
    remove: () => rm(path, { recursive: true, force: true }),
  }
}
