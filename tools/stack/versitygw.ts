import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild, succeeded, untilReady, type Child } from './child.js'
import { freePort } from './ports.js'

/** Of tools/versitygw/go.mod. */
const VERSION = '1.8.0'
const moduleFolder = fileURLToPath(new URL('../versitygw/', import.meta.url))

/** Path of versitygw, an S3 server over a folder: kept in the user's cache, built with Go the first time. Throws one sentence when it cannot be built. */
export async function findVersitygw(report: (line: string) => void, env = process.env): Promise<string> {
  const folder = join(env.XDG_CACHE_HOME || join(env.HOME || userInfo().homedir, '.cache'), 'relay-and-sign')
  const binary = join(folder, `versitygw-${VERSION}-${process.platform}-${process.arch}`)
  if (await stat(binary).catch(() => null)) return binary
  await mkdir(folder, { recursive: true })
  report(`Building versitygw ${VERSION} with Go. This takes a few minutes, once; the result is kept in ${folder}.`)
  // A name of its own and a rename: two builds at once end with one whole file.
  const unfinished = `${binary}.${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    const build = await startChild({
      name: 'go build',
      command: 'go',
      args: ['build', '-trimpath', '-ldflags', '-s -w', '-o', unfinished, 'github.com/versity/versitygw/cmd/versitygw'],
      cwd: moduleFolder,
      env: { ...env, GOWORK: 'off' }, // a workspace file in a folder above is not ours
    })
    await succeeded(build, `versitygw ${VERSION} could not be built; it needs Go 1.25 or newer and the Go module proxy`)
    await rename(unfinished, binary)
  } finally {
    await rm(unfinished, { force: true })
  }
  return binary
}

interface VersitygwOptions {
  binary: string
  folder: string
  /** None where it is left out. */
  bucket?: string
  /** A free one where it is left out. */
  port?: number
  /** Random where it is left out. */
  secretAccessKey?: string
}

/** Starts an S3 server on `folder`. */
export async function startVersitygw({ binary, folder, bucket, ...given }: VersitygwOptions) {
  const [buckets, sidecar] = [join(folder, 'buckets'), join(folder, 'metadata')]
  await mkdir(bucket ? join(buckets, bucket) : buckets, { recursive: true })
  await mkdir(sidecar, { recursive: true })
  const port = given.port ?? (await freePort())
  const endpoint = `http://127.0.0.1:${port}`
  const secretAccessKey = given.secretAccessKey ?? randomBytes(16).toString('hex')
  const credentials = { accessKeyId: 'test', secretAccessKey }
  const child: Child = await startChild({
    name: 'versitygw',
    command: binary,
    args: ['--port', `127.0.0.1:${port}`, 'posix', '--sidecar', sidecar, buckets],
    env: { ...process.env, ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey },
  })
  await untilReady(child, { name: 'versitygw', probe: () => fetch(endpoint), timeoutMs: 20_000 })
  return { endpoint, ...credentials, stop: () => child.stop() }
}
