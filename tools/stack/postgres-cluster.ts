import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { startChild, succeeded } from './child.js'
import type { PostgresPlace } from './postgres-user.js'

/** Creates the data folder of a new cluster with user `relay`, and its password file beside it. Does nothing where there is one. */
export async function initialiseCluster({ dataDir, bin, runAs }: PostgresPlace, durable: boolean): Promise<void> {
  if (await exists(join(dataDir, 'PG_VERSION'))) return

  const passwordFile = passwordFileOf(dataDir)
  await writePassword(passwordFile)
  // Made under another name and renamed when complete: a start killed half-way leaves no half cluster.
  const unfinished = `${dataDir}.new-${process.pid}-${randomBytes(4).toString('hex')}`
  await mkdir(unfinished, { mode: 0o700 })
  try {
    if (runAs) {
      await chown(passwordFile, runAs.uid, runAs.gid)
      await chown(unfinished, runAs.uid, runAs.gid)
    }
    const initdb = await startChild({
      name: 'initdb',
      command: join(bin, 'initdb'),
      args: [
        '-D',
        unfinished,
        '-U',
        'relay',
        '--auth=scram-sha-256',
        `--pwfile=${passwordFile}`,
        '--locale=C',
        '--encoding=UTF8',
        ...(durable ? [] : ['--no-sync']),
      ],
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
      cwd: dirname(dataDir),
      ...runAs,
    })
    await succeeded(initdb, 'PostgreSQL could not create its data folder')
    await rename(unfinished, dataDir)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    // Another start of the same folder was quicker: its cluster has the same password.
    if (
      ['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '') &&
      (await exists(join(dataDir, 'PG_VERSION')))
    )
      return
    throw error
  }
}

/** The password that `initialiseCluster` chose. Throws one sentence when its file is gone. */
export async function readPassword(dataDir: string): Promise<string> {
  const file = passwordFileOf(dataDir)
  if (!(await exists(file))) {
    throw new Error(
      `The password of the PostgreSQL data in ${dataDir} is missing (${file}); put it back, or delete the data folder to start afresh.`,
    )
  }
  return (await readFile(file, 'utf8')).trim()
}

function passwordFileOf(dataDir: string): string {
  return `${dataDir}.password`
}

async function writePassword(file: string): Promise<void> {
  if (await exists(file)) return
  const password = randomBytes(24).toString('base64url')
  await writeFile(file, `${password}\n`, { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error // a second start wrote it meanwhile; both use that one
  })
  await chmod(file, 0o600)
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
