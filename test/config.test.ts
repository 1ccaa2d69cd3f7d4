import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEV_ONLY_PEPPER, readConfig } from '../src/config.js'
import { DEV_ONLY_KEY } from '../src/environment.js'
import { describeConfiguration, readConfigurationPage } from '../tools/configuration.js'

const least = { DATABASE_URL: 'postgres://x/y' }
const key = (fill: number) => Buffer.alloc(32, fill).toString('base64')

/** Everything that production needs, and nothing of development. */
const production = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://relay:p@database/relay',
  TEMPORAL_ADDRESS: 'temporal:7233',
  PUBLIC_ORIGIN: 'https://relay.example',
  MEDIA_DIR: '/media',
  KEY_PEPPER: 'p'.repeat(32),
  KEY_ENCRYPTION_KEYS: `k1:${key(1)}`,
}

test('names every variable that is missing or wrong at once', () => {
  expect(() => readConfig({ PORT: '99999', KEY_ENCRYPTION_KEYS: 'a:short' })).toThrow(
    /DATABASE_URL.*KEY_ENCRYPTION_KEYS.*PORT/s,
  )
})

test('an id of a key that could not be read back is refused', () => {
  expect(() => readConfig({ ...least, KEY_ENCRYPTION_KEYS: `prod.2026:${key(1)}` })).toThrow(/KEY_ENCRYPTION_KEYS/)
  expect(readConfig({ ...least, KEY_ENCRYPTION_KEYS: `prod-2026:${key(1)}` }).keyEncryptionKeys[0]?.id).toBe(
    'prod-2026',
  )
})

test('an empty variable counts as not set', () => {
  expect(readConfig({ ...least, PORT: '' }).port).toBe(8080)
})

describe('production', () => {
  test('starts with everything it needs', () => {
    expect(readConfig(production)).toMatchObject({
      publicOrigin: 'https://relay.example',
      temporal: { address: 'temporal:7233', tls: false },
    })
  })

  test.each([
    ['DATABASE_URL', undefined, /DATABASE_URL/],
    ['DATABASE_URL', 'mysql://x/y', /DATABASE_URL/],
    ['DATABASE_URL', 'somewhere', /DATABASE_URL/],
    ['DATABASE_URL', 'postgres:relay', /DATABASE_URL: must be postgres:/],
    ['DATABASE_URL', 'postgres://host', /DATABASE_URL: must be postgres:/],
    ['DATABASE_URL', 'postgres://u:p%zz@host/d', /DATABASE_URL: must be postgres:/],
    ['TEMPORAL_ADDRESS', 'temporal:99999', /TEMPORAL_ADDRESS: must be host:port/],
    ['SWEEP_EVERY_MS', '0', /SWEEP_EVERY_MS/],
    ['RETRY_LONGEST_MS', '9999999999', /RETRY_LONGEST_MS/],
    ['DRAIN_MS', '60000', /DRAIN_MS: must leave 45 s/],
    ['TEMPORAL_ADDRESS', undefined, /TEMPORAL_ADDRESS: say where/],
    ['TEMPORAL_ADDRESS', 'http://temporal:7233', /TEMPORAL_ADDRESS: must be host:port/],
    ['TEMPORAL_ADDRESS', 'temporal', /TEMPORAL_ADDRESS: must be host:port/],
    ['PUBLIC_ORIGIN', undefined, /PUBLIC_ORIGIN: say where/],
    ['PUBLIC_ORIGIN', 'relay.example', /PUBLIC_ORIGIN/],
    ['PUBLIC_ORIGIN', 'http://relay.example', /PUBLIC_ORIGIN: must be https/],
    ['PUBLIC_ORIGIN', 'https://relay.example/v1', /PUBLIC_ORIGIN: must be an origin/],
    ['PUBLIC_ORIGIN', 'https://me@relay.example', /PUBLIC_ORIGIN: must be an origin/],
    ['KEY_PEPPER', undefined, /KEY_PEPPER: set a secret of your own/],
    ['KEY_PEPPER', DEV_ONLY_PEPPER, /KEY_PEPPER: set a secret of your own/],
    ['KEY_PEPPER', 'short', /KEY_PEPPER: must have 32/],
    ['KEY_ENCRYPTION_KEYS', undefined, /KEY_ENCRYPTION_KEYS: set keys of your own/],
    ['KEY_ENCRYPTION_KEYS', `dev-only:${key(1)}`, /KEY_ENCRYPTION_KEYS: set keys of your own/],
    ['KEY_ENCRYPTION_KEYS', `mine:${DEV_ONLY_KEY.toString('base64')}`, /KEY_ENCRYPTION_KEYS: set keys of your own/],
    ['KEY_ENCRYPTION_KEYS', `k1:${key(1)},k0:${DEV_ONLY_KEY.toString('base64')}`, /KEY_ENCRYPTION_KEYS: set keys/],
    ['KEY_ENCRYPTION_KEYS', `k1:${key(1)},k1:${key(2)}`, /KEY_ENCRYPTION_KEYS: must be a list/],
    ['KEY_ENCRYPTION_KEYS', 'k1:c2hvcnQ=', /KEY_ENCRYPTION_KEYS: must be a list/],
    ['KEY_ENCRYPTION_KEYS', ',', /KEY_ENCRYPTION_KEYS: must be a list/],
    ['MEDIA_DIR', undefined, /S3_ENDPOINT: name a bucket, or a folder/],
    ['EGRESS_ALLOW', '10.0.0.1:443', /EGRESS_ALLOW: would open/],
    ['WEBHOOK_TIME_SCALE', '0.5', /WEBHOOK_TIME_SCALE: is for tests/],
    ['CRASH_AT', 'attempt.sent', /CRASH_AT: is for tests/],
  ])('does not start with %s %s', (name, value, problem) => {
    expect(() => readConfig({ ...production, [name]: value })).toThrow(problem)
  })

  test('says everything that is wrong in one sentence, and no value', () => {
    const bad = { ...production, KEY_PEPPER: 'hunter2', PUBLIC_ORIGIN: undefined, CRASH_AT: 'attempt.sent' }
    expect(() => readConfig(bad)).toThrow(/^Not fit for production\. PUBLIC_ORIGIN.*; KEY_PEPPER.*; CRASH_AT.*$/)
    expect(() => readConfig(bad)).not.toThrow(/hunter2/)
  })

  test.each(['http://127.0.0.1:8080', 'http://localhost:8080', 'http://[::1]:8080'])(
    'on this machine itself (%s) it needs no https and may open addresses',
    (PUBLIC_ORIGIN) => {
      const config = readConfig({ ...production, PUBLIC_ORIGIN, EGRESS_ALLOW: '127.0.0.1:9000' })
      expect(config.egressAllow).toEqual(['127.0.0.1:9000'])
    },
  )

  test('has no sandbox unless one is asked for', () => {
    expect(readConfig(production).sandboxUrl).toBeUndefined()
    expect(readConfig({ ...production, SANDBOX_URL: 'http://api:8080' }).sandboxUrl).toBe('http://api:8080')
  })
})

test('an address of its own may be of either kind', () => {
  expect(readConfig({ ...least, HOST: '::1', PORT: '8080' }).publicOrigin).toBe('http://[::1]:8080')
})

test('a call may not take so long that its attempt times out', () => {
  expect(() => readConfig({ ...least, CALL_TIMEOUT_MS: '50000' })).toThrow(/CALL_TIMEOUT_MS/)
})

test('a bucket is named whole or not at all, and its secret is in no message', () => {
  const half = { ...least, S3_ENDPOINT: 'http://s3', S3_BUCKET: 'b', S3_SECRET_ACCESS_KEY: 'very-secret' }
  expect(() => readConfig(half)).toThrow(/S3_REGION.*set all or none/)
  expect(() => readConfig(half)).not.toThrow(/very-secret/)
  const { media } = readConfig({ ...half, S3_REGION: 'eu-1', S3_ACCESS_KEY_ID: 'id' })
  expect(media.s3).toMatchObject({ bucket: 'b', region: 'eu-1' })
  expect(readConfig(least).media.s3).toBeNull()
})

describe('Temporal', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'relay-pem-'))
    await writeFile(join(folder, 'pem'), 'PEM')
  })
  afterAll(() => rm(folder, { recursive: true }))

  test('is reached without TLS, unless something asks for it', () => {
    const temporal = (more: NodeJS.ProcessEnv) => readConfig({ ...least, ...more }).temporal
    const pem = join(folder, 'pem')
    expect(temporal({}).tls).toBe(false)
    expect(temporal({ TEMPORAL_TLS: 'true' }).tls).toEqual({})
    expect(temporal({ TEMPORAL_API_KEY: 'k' })).toMatchObject({ apiKey: 'k', tls: {} })
    expect(temporal({ TEMPORAL_API_KEY: 'k', TEMPORAL_TLS: 'false' }).tls).toBe(false)
    expect(temporal({ TEMPORAL_TLS_CLIENT_CERT_PATH: pem, TEMPORAL_TLS_CLIENT_KEY_PATH: pem }).tls).toEqual({
      clientCertPair: { crt: Buffer.from('PEM'), key: Buffer.from('PEM') },
    })
    expect(temporal({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: pem, TEMPORAL_TLS_SERVER_NAME: 'other' }).tls).toEqual({
      serverRootCACertificate: Buffer.from('PEM'),
      serverNameOverride: 'other',
    })
  })

  test('a certificate without its key, and a file that is not there, are named', () => {
    const pem = join(folder, 'pem')
    expect(() => readConfig({ ...least, TEMPORAL_TLS_CLIENT_CERT_PATH: pem })).toThrow(/CLIENT_KEY_PATH: set both/)
    expect(() => readConfig({ ...least, TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, 'none') })).toThrow(
      /TEMPORAL_TLS_SERVER_CA_CERT_PATH: names a file that cannot be read \(ENOENT\)/,
    )
  })
})

test('the configuration reference says what the schema says: `npm run configuration` renews it', async () => {
  expect(await readConfigurationPage()).toBe(await describeConfiguration())
})
