import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** What `FROM node:24-…` stands for: the newest of that line when this was written. */
const VERSION = '24.22.3'

const run = promisify(execFile)

/** Path of a Node 24, from the npm package that holds nothing but its binary; kept in the user's cache. Throws one sentence where there is none for this machine. */
export async function findNode24(report: (line: string) => void, env = process.env): Promise<string> {
  const folder = join(env.XDG_CACHE_HOME || join(env.HOME || userInfo().homedir, '.cache'), 'relay-and-sign')
  const binary = join(folder, `node-${VERSION}-${process.platform}-${process.arch}`)
  if (await stat(binary).catch(() => null)) return binary
  const name = `node-${process.platform}-${process.arch}`
  report(`Fetching Node ${VERSION} from npm (${name}), once; it is kept in ${folder}.`)
  const scratch = await mkdtemp(join(tmpdir(), 'relay-node-'))
  try {
    await run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', scratch, `${name}@${VERSION}`])
    await mkdir(folder, { recursive: true })
    await cp(join(scratch, 'node_modules', name, 'bin/node'), `${binary}.${process.pid}`)
    await rename(`${binary}.${process.pid}`, binary)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`Node ${VERSION}, which the rehearsal runs on, could not be had from npm (${name}): ${why}`, {
      cause: error,
    })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  return binary
}
