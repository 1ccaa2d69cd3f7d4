import { revokeKey } from '../../src/accounts/repository.js'
import { makeKey, parseKey } from '../../src/accounts/key-format.js'
import { startApp, type App } from '../support/app.js'

let app: App

beforeAll(async () => {
  app = await startApp({ worker: false })
})
afterAll(() => app.stop())

const path = `/v1/posts/post_${'0'.repeat(32)}`

test('no key, a malformed, an unknown and a revoked one get the same 401, byte for byte', async () => {
  const revoked = await app.tenant()
  expect(await revokeKey(app.sql, revoked.organisationId, revoked.keyId)).toBe(true)
  const credentials: Record<string, string>[] = [
    {},
    { authorization: 'Bearer nonsense' },
    { authorization: `Bearer ${makeKey().text}` },
    { authorization: `Bearer ${revoked.key}` },
    { authorization: `Basic ${revoked.key}` },
    { 'x-api-key': revoked.key },
  ]
  const answers = await Promise.all(credentials.map((headers) => app.call('GET', path, undefined, headers)))
  expect(answers.map(({ status }) => status)).toEqual(credentials.map(() => 401))
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  expect(answers[0]?.body.error.code).toBe('unauthorized')
})

test('a key works in either header until it is revoked, and not one request longer', async () => {
  const tenant = await app.tenant()
  expect((await app.call('GET', path, undefined, { 'x-api-key': tenant.key })).status).toBe(404)
  expect((await tenant.call('GET', path)).status).toBe(404)
  await revokeKey(app.sql, tenant.organisationId, tenant.keyId)
  expect((await tenant.call('GET', path)).status).toBe(401)
})

test('two different keys in one request are refused', async () => {
  const [one, two] = await Promise.all([app.tenant(), app.tenant()])
  expect((await one.call('GET', path, undefined, { 'x-api-key': two.key })).status).toBe(401)
})

test('a key of another organisation cannot be revoked', async () => {
  const [one, two] = await Promise.all([app.tenant(), app.tenant()])
  expect(await revokeKey(app.sql, one.organisationId, two.keyId)).toBe(false)
})

test('a key that only reads cannot publish, and is told the scope it lacks', async () => {
  const reader = await app.tenant(['read'])
  const answer = await reader.call('POST', '/v1/posts', {})
  expect([answer.status, answer.body.error.code, answer.body.error.details]).toEqual([
    403,
    'insufficient_scope',
    { scope: 'publish' },
  ])
})

test('admin implies every scope', async () => {
  const admin = await app.tenant(['admin'])
  expect((await admin.call('POST', '/v1/posts', {})).status).toBe(422)
})

test('a bad key is refused before its body is read', async () => {
  const answer = await app.call('POST', '/v1/posts', '{"broken', { authorization: 'Bearer nonsense' })
  expect(answer.status).toBe(401)
})

test('only a salted hash of a key is stored', async () => {
  const { key } = await app.tenant()
  const [{ rows }] = await app.sql<[{ rows: string }]>`select string_agg(api_keys::text, ' ') as rows from api_keys`
  const secret = parseKey(key)?.secret ?? ''
  expect(rows).not.toContain(secret)
  expect(rows).not.toContain(Buffer.from(secret).toString('hex'))
})
