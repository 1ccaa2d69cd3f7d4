import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startChild, succeeded } from '../../tools/stack/child.js'
import { findVersitygw } from '../../tools/stack/versitygw.js'

const folder = new URL('.', import.meta.url)
const stamp = new URL('node_modules/.installed', folder)

/** Installs the packages of this folder unless they are there already. Throws one sentence with npm's last lines. */
export async function installRealServers(report: (line: string) => void): Promise<void> {
  const wanted = await fingerprint()
  if ((await readStamp()) === wanted) return

  const begun = Date.now()
  const seconds = (): number => Math.round((Date.now() - begun) / 1000)
  report('Installing the real servers of test/real. This compiles SQLite and takes 1 to 3 minutes, once.')
  const progress = setInterval(() => report(`Still installing the real servers: ${seconds()} s so far.`), 15_000)
  try {
    const npm = await startChild({
      name: 'npm ci',
      command: 'npm',
      args: ['ci', '--no-audit', '--no-fund'],
      cwd: fileURLToPath(folder),
      env: process.env,
    })
    await succeeded(
      npm,
      'The real servers of test/real could not be installed; npm needs its registry, and better-sqlite3 needs Python, make and a C++ compiler where no ready build can be downloaded',
    )
    await writeFile(stamp, wanted)
    report(`The real servers are installed (${seconds()} s).`)
  } finally {
    clearInterval(progress)
  }
}

/** Changes with what is installed, and with the Node whose binary interface SQLite was compiled for. */
async function fingerprint(): Promise<string> {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${process.versions.modules}`)
  for (const file of ['package.json', 'package-lock.json']) hash.update(await readFile(new URL(file, folder)))
  return hash.digest('hex')
}

async function readStamp(): Promise<string | null> {
  return readFile(stamp, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  // Built here, once, before several test files ask for it at the same moment.
  const install = async () => {
    await installRealServers(say)
    await findVersitygw(say)
  }
  await install().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
}
