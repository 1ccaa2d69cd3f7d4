import { readConfig } from '../src/config.js'

const least = { DATABASE_URL: 'postgres://x/y' }

test('names every variable that is missing or wrong at once', () => {
  expect(() => readConfig({ PORT: '99999', KEY_ENCRYPTION_KEYS: 'a:short' })).toThrow(
    /PORT.*DATABASE_URL.*KEY_ENCRYPTION_KEYS/s,
  )
})

test('an id of a key that could not be read back is refused', () => {
  const key = Buffer.alloc(32).toString('base64')
  expect(() => readConfig({ ...least, KEY_ENCRYPTION_KEYS: `prod.2026:${key}` })).toThrow(/KEY_ENCRYPTION_KEYS/)
  expect(readConfig({ ...least, KEY_ENCRYPTION_KEYS: `prod-2026:${key}` }).keyEncryptionKeys[0]?.id).toBe('prod-2026')
})

test('an empty variable counts as not set', () => {
  expect(readConfig({ ...least, PORT: '' }).port).toBe(8080)
})

test('production refuses development secrets and crash points', () => {
  const production = { ...least, NODE_ENV: 'production' }
  expect(() => readConfig({ ...production, CRASH_AT: 'attempt.sent', WEBHOOK_TIME_SCALE: '0.5' })).toThrow(
    /KEY_PEPPER.*KEY_ENCRYPTION_KEYS.*WEBHOOK_TIME_SCALE.*PUBLIC_ORIGIN.*S3_ENDPOINT.*CRASH_AT/s,
  )
  const own = {
    PUBLIC_ORIGIN: 'https://relay.example',
    MEDIA_DIR: '/media',
    KEY_PEPPER: 'own',
    KEY_ENCRYPTION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
  }
  expect(readConfig({ ...production, ...own }).keyEncryptionKeys).toHaveLength(1)
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
