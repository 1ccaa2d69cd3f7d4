import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findTemporal } from '../../tools/stack/temporal-cli.js'
import { until } from '../support/until.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
let folder: string
let taken: Server
let port: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'relay-tools-'))
  await chmod(folder, 0o711) // as root, PostgreSQL runs under another user, who must get in
  taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  port = String((taken.address() as AddressInfo).port)
})
afterAll(async () => {
  await new Promise((resolve) => taken.close(resolve))
  await rm(folder, { recursive: true, force: true })
})

/** Runs a program of ours until it ends; answers its exit code and what it said. */
function runTool(
  script: string,
  env: NodeJS.ProcessEnv,
  onOutput?: (all: string, kill: (signal: NodeJS.Signals) => void) => void,
) {
  const child = spawn(process.execPath, ['--import', 'tsx', script], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const read = (chunk: Buffer) => {
    output += chunk.toString()
    onOutput?.(output, (signal) => child.kill(signal))
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  return new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, output })),
  )
}

const free = { PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0', DATABASE_URL: '', TEMPORAL_ADDRESS: '' }

test('npm run dev: ready, dev.json only for its owner, and Ctrl-C ends every part', async () => {
  const dataDir = join(folder, 'dev one') // with a space
  let stopped = false
  const { code, output } = await runTool('tools/dev.ts', { ...free, DATA_DIR: dataDir }, (all, kill) => {
    if (stopped || !all.includes('Ready after')) return
    stopped = true
    setTimeout(() => kill('SIGINT'), 200)
  })
  expect(output).toMatch(/Ready after [\d.]+ s/)
  expect(code).toBe(0)
  const facts = JSON.parse(await readFile(join(dataDir, 'dev.json'), 'utf8')) as Record<string, string>
  expect(Object.keys(facts).sort()).toEqual(['api', 'organisation_id', 'relay_api_key', 'temporal_ui'])
  expect((await stat(join(dataDir, 'dev.json'))).mode & 0o077).toBe(0)
  for (const url of [facts['api'], facts['temporal_ui']]) await expect(fetch(String(url))).rejects.toThrow()
})

test.each([
  ['PORT', 'the API'],
  ['TEMPORAL_PORT', 'Temporal'],
  ['TEMPORAL_UI_PORT', 'the Temporal UI'],
  ['POSTGRES_PORT', 'PostgreSQL'],
])('a %s that is in use: one sentence, and everything that had started is stopped', async (variable, what) => {
  const { code, output } = await runTool('tools/dev.ts', {
    ...free,
    DATA_DIR: join(folder, variable),
    [variable]: port,
  })
  expect(code).toBe(1)
  expect(output).toContain(`Port ${port} is already in use; ${what} cannot listen there.`)
  expect(output).toContain(`set ${variable}`)
  expect(output).not.toMatch(/\n\s+at /)
})

test('an api whose port is in use says so and ends', async () => {
  const { code, output } = await runTool('api/server.ts', {
    DATABASE_URL: process.env.TEST_POSTGRES_URL?.replace(/[^/]*$/, 'relay_template'),
    PORT: port,
  })
  expect(code).toBe(1)
  expect(output).toMatch(/Port \d+ is already in use/)
})

test.each(['api/server.ts', 'temporal/worker.ts', 'src/db/run-migrations.ts'])(
  '%s: a configuration that cannot be used is one sentence',
  async (script) => {
    const { code, output } = await runTool(script, { DATABASE_URL: '', PORT: 'many' })
    expect(code).toBe(1)
    expect(output).toMatch(/^The configuration is not usable\. .*DATABASE_URL.*PORT.*\n$/)
  },
)

test('neither temporal nor Go: the sentence says what is missing and how to get it', async () => {
  // A proxy that is not there keeps the download from succeeding where there is a network.
  const env = { PATH: '', HOME: folder, HTTPS_PROXY: 'http://127.0.0.1:1', https_proxy: 'http://127.0.0.1:1' }
  await expect(findTemporal(() => undefined, env)).rejects.toThrow(
    /no temporal and no go on PATH.*Install Go.*TEMPORAL_CLI.*TEMPORAL_ADDRESS/s,
  )
})

test('a TEMPORAL_CLI that is not a program is named', async () => {
  await expect(findTemporal(() => undefined, { TEMPORAL_CLI: join(folder, 'nothing') })).rejects.toThrow(
    /TEMPORAL_CLI is set to .*nothing/,
  )
})

test('a part that ends by itself ends the others, with its name', async () => {
  let killed = false
  const { code, output } = await runTool('tools/dev.ts', { ...free, DATA_DIR: join(folder, 'dies') }, (all) => {
    if (killed || !all.includes('Ready after')) return
    killed = true
    void readFile(join(folder, 'dies/postgres/postmaster.pid'), 'utf8').then((text) =>
      process.kill(Number(text.split('\n')[0]), 'SIGKILL'),
    )
  })
  await until('it was killed', () => killed)
  expect(code).toBe(1)
  expect(output).toContain('PostgreSQL ended unexpectedly')
})
