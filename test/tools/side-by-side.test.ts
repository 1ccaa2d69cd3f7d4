import { execFile, spawn } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until } from '../support/until.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** A copy of what is in version control or about to be, beside the packages of this one. */
async function copyProject(to: string): Promise<string> {
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
  for (const file of stdout.split('\n').filter((name) => name && !name.startsWith('test/real/'))) {
    await mkdir(dirname(join(to, file)), { recursive: true })
    await cp(join(root, file), join(to, file))
  }
  await symlink(join(root, 'node_modules'), join(to, 'node_modules'))
  return to
}

function startDev(cwd: string) {
  const env = {
    ...process.env,
    PORT: '',
    TEMPORAL_PORT: '',
    TEMPORAL_UI_PORT: '',
    DATABASE_URL: '',
    TEMPORAL_ADDRESS: '',
    WORKFLOW_BUNDLE: '',
  }
  const child = spawn(process.execPath, ['--import', 'tsx', 'tools/dev.ts'], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const dev = {
    output: '',
    ended: new Promise<number | null>((resolve) => child.once('close', resolve)),
    stop: () => child.kill('SIGINT'),
  }
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (dev.output += chunk.toString()))
  return dev
}

test('two copies run side by side on the usual settings, one of them in the home folder, one with a space in its path', async () => {
  const folders = [await mkdtemp(join(homedir(), 'relay-copy-')), await mkdtemp(join(tmpdir(), 'relay copy '))]
  await chmod(folders[1]!, 0o711)
  const copies = await Promise.all(folders.map(copyProject))
  const devs: ReturnType<typeof startDev>[] = []
  try {
    const urls: string[] = []
    for (const copy of copies) {
      const dev = startDev(copy)
      devs.push(dev)
      urls.push(
        await until(
          'it is ready',
          () => {
            if (/rror|unexpectedly|already/.test(dev.output)) throw new Error(dev.output)
            return dev.output.includes('Ready after') && /API +(http:\S+)/.exec(dev.output)?.[1]
          },
          60_000,
        ),
      )
    }
    expect(new Set(urls).size).toBe(2)
    for (const url of urls) expect((await fetch(`${url}/healthz`)).status).toBe(200)
  } finally {
    for (const dev of devs) dev.stop()
    expect(await Promise.all(devs.map(({ ended }) => ended))).toEqual([0, 0])
    // Where its owner cannot enter the project, PostgreSQL keeps its data elsewhere and leaves a link.
    const data = await Promise.all(copies.map((copy) => realpath(join(copy, '.data/postgres'))))
    await Promise.all([...folders, ...data].map((folder) => rm(folder, { recursive: true, force: true })))
  }
})
