import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { readConfig } from '../../src/config.js'
import { resolveCompose } from '../../tools/compose/subject.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folders: string[] = []

afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))

/** A folder like the project's, with the script and no .env yet. */
async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'relay make env '))
  folders.push(folder)
  await mkdir(join(folder, 'tools'))
  await cp(join(root, 'tools/make-env.sh'), join(folder, 'tools/make-env.sh'))
  return folder
}

/** Run from elsewhere, as by a path. */
function makeEnv(folder: string, path = process.env.PATH): Promise<{ code: number; output: string; errors: string }> {
  return new Promise((resolve) => {
    execFile(
      '/bin/sh',
      [join(folder, 'tools/make-env.sh')],
      { cwd: '/', env: { PATH: path } },
      (error, output, errors) => resolve({ code: error ? Number(error.code) : 0, output, errors }),
    )
  })
}

const settingsOf = async (folder: string) =>
  parseEnv(await readFile(join(folder, '.env'), 'utf8')) as Record<string, string>

const PLAIN = ['COMPOSE_PROJECT_NAME', 'PUBLIC_ORIGIN']

const secretsOf = async (folder: string) =>
  Object.entries(await settingsOf(folder)).flatMap(([name, value]) => (PLAIN.includes(name) ? [] : value))

test('.env is for its owner alone, and nothing else is left behind', async () => {
  const folder = await makeFolder()
  expect((await makeEnv(folder)).code).toBe(0)
  expect((await stat(join(folder, '.env'))).mode & 0o777).toBe(0o600)
  expect((await readdir(folder)).sort()).toEqual(['.env', 'tools'])
})

test('every secret is another one each time, and none is used twice', async () => {
  const [first, second] = await Promise.all([makeFolder(), makeFolder()])
  await Promise.all([makeEnv(first), makeEnv(second)])
  const values = [...(await secretsOf(first)), ...(await secretsOf(second))]
  expect(values).toHaveLength(14)
  expect(new Set(values).size).toBe(14)
})

test('no secret is printed', async () => {
  const folder = await makeFolder()
  const { output, errors } = await makeEnv(folder)
  for (const secret of await secretsOf(folder)) expect(output + errors).not.toContain(secret)
  expect(output).toContain(join(folder, '.env'))
})

test('a .env that is there is kept, with one sentence', async () => {
  const folder = await makeFolder()
  await writeFile(join(folder, '.env'), 'MINE=1\n')
  const { code, output, errors } = await makeEnv(folder)
  expect({ code, output }).toEqual({ code: 1, output: '' })
  expect(errors).toMatch(/^There is already a \.env in .+\n$/)
  expect(await readFile(join(folder, '.env'), 'utf8')).toBe('MINE=1\n')
  expect((await readdir(folder)).sort()).toEqual(['.env', 'tools'])
})

test.each(['od', 'base64', 'dd', 'tr'])('where %s does not work, nothing is written', async (tool) => {
  const folder = await makeFolder()
  const broken = join(folder, 'tools', tool)
  await writeFile(broken, '#!/bin/sh\ncat >/dev/null </dev/null\n')
  await chmod(broken, 0o755)
  const { code, errors } = await makeEnv(folder, `${join(folder, 'tools')}:${process.env.PATH}`)
  expect(code).toBe(1)
  expect(errors).toContain('The secrets could not be made')
  expect(await readdir(folder)).toEqual(['tools'])
})

test.each(['api', 'worker', 'migrate', 'temporal-setup', 'storage-setup', 'ops'])(
  'what it writes is fit for production: %s starts with it',
  async (name) => {
    const folder = await makeFolder()
    await makeEnv(folder)
    const settings = await settingsOf(folder)
    const text = await readFile(join(root, 'docker-compose.yml'), 'utf8')
    const environment = resolveCompose(text, settings).services[name]?.environment as Record<string, string>
    const config = readConfig({ ...environment, NODE_ENV: 'production' })
    expect(new URL(config.databaseUrl).password).toBe(settings.RELAY_DB_PASSWORD)
    expect(config.keyEncryptionKeys.map(({ id, key }) => [id, key.length])).toEqual([['k1', 32]])
    expect(config.media.s3).toMatchObject({ bucket: 'relay-and-sign', secretAccessKey: settings.S3_SECRET_ACCESS_KEY })
    expect(config.publicOrigin).toBe('http://localhost:8080')
  },
)
