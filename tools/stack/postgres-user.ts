import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chown, lstat, mkdir, readlink, rm, rmdir, stat, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { nativeBinaries, sharedBinaries } from './postgres-binaries.js'

const run = promisify(execFile)

export interface SystemUser {
  uid: number
  gid: number
}

export interface PostgresPlace {
  dataDir: string
  /** The folder of `postgres` and `initdb`. */
  bin: string
  /** Null: as ourselves. */
  runAs: SystemUser | null
}

/** Where and as whom PostgreSQL can run. It refuses root; root therefore runs it as the system user `postgres`, in folders that user can enter. */
export async function postgresPlace(wanted: string): Promise<PostgresPlace> {
  const native = await nativeBinaries()
  const dataDir = resolve(wanted)
  await mkdir(dirname(dataDir), { recursive: true })
  if (process.getuid?.() !== 0) {
    await refuseForeignData(dataDir)
    return { dataDir, bin: join(native.folder, 'bin'), runAs: null }
  }
  const user = await systemUser()
  const bin = join(
    (await canRun(user, join(native.folder, 'bin', 'postgres'))) ? native.folder : await sharedBinaries(native),
    'bin',
  )
  const reachable = (await canEnter(user, dirname(dataDir))) ? dataDir : await reachableData(dataDir)
  await own(reachable, user)
  return { dataDir: reachable, bin, runAs: user }
}

async function systemUser(): Promise<SystemUser> {
  if (!(await run('id', ['-u', 'postgres']).catch(() => null))) {
    await run('useradd', ['--system', '--no-create-home', 'postgres']).catch((error: unknown) => {
      throw new Error(
        'PostgreSQL does not run as root and the system user "postgres" could not be created; create it, run this as another user, or set DATABASE_URL.',
        { cause: error },
      )
    })
  }
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)),
  )
  return { uid: uid as number, gid: gid as number }
}

/** Tried rather than read from modes, which do not know access lists or mount options. */
async function canRun(user: SystemUser, file: string): Promise<boolean> {
  return run(file, ['--version'], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  )
}

async function canEnter(user: SystemUser, folder: string): Promise<boolean> {
  return run('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  )
}

/** A folder under /var/tmp that stands for `dataDir`, which becomes a link to it: deleting the link starts afresh, as deleting the data would. */
async function reachableData(dataDir: string): Promise<string> {
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  const home = `/var/tmp/relay-and-sign-${name}`
  const data = join(home, 'postgres')
  const linked = await readlink(dataDir).catch(() => null)
  if (linked !== data) {
    const there = await lstat(dataDir).catch(() => null)
    if (there?.isDirectory())
      await rmdir(dataDir) // fails on data, which must not be hidden by the link
    else if (there) await rm(dataDir)
    await rm(home, { recursive: true, force: true })
    await symlink(data, dataDir)
  }
  await mkdir(home, { recursive: true, mode: 0o711 })
  await ownedByRoot(home)
  return data
}

/** /var/tmp is open to everybody: what another user laid there is neither run nor trusted. */
export async function ownedByRoot(path: string): Promise<void> {
  if ((await lstat(path)).uid !== 0)
    throw new Error(`${path} belongs to another user, so PostgreSQL is not run from it; delete it and start again.`)
}

async function own(dataDir: string, { uid, gid }: SystemUser): Promise<void> {
  const there = await stat(dataDir).catch(() => null)
  if (!there || there.uid === uid) return
  await run('chown', ['-R', `${uid}:${gid}`, dataDir])
  await chown(`${dataDir}.password`, uid, gid).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

async function refuseForeignData(dataDir: string): Promise<void> {
  const there = await stat(dataDir).catch(() => null)
  if (there && there.uid !== process.getuid?.()) {
    throw new Error(
      `The PostgreSQL data in ${dataDir} belongs to another user (an earlier start as root?); start as that user again, or delete it.`,
    )
  }
}
