import { createKey, revokeKey } from '../../src/accounts/repository.js'
import type { Key } from '../../src/accounts/schema.js'
import { DEV_ONLY_PEPPER } from '../../src/config.js'
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
  await revokeKey(app.sql, revoked.organisationId, revoked.keyId)
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
  expect((await one.call('DELETE', `/v1/keys/${two.keyId}`)).status).toBe(404)
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

test('keys are listed without their text, and revoked over the API at once; that needs admin', async () => {
  const owner = await app.tenant()
  const { id, key } = await createKey(app.sql, owner.organisationId, {
    name: 'second',
    scopes: ['read'],
    pepper: DEV_ONLY_PEPPER,
  })
  const asSecond = () => app.call('GET', '/v1/connections', undefined, { 'x-api-key': key })
  expect((await asSecond()).status).toBe(200)
  const { body } = await owner.call<Key[]>('GET', '/v1/keys')
  expect(body.data.map(({ name, scopes, last4 }) => [name, scopes, last4])).toEqual([
    ['second', ['read'], key.slice(-4)],
    ['test', ['read', 'publish', 'connect', 'admin'], owner.key.slice(-4)],
  ])
  expect(body.data[0]).toMatchObject({ revoked_at: null, last_used_at: expect.any(String) })
  expect(JSON.stringify(body)).not.toContain(key)

  const refused = await app.call('DELETE', `/v1/keys/${id}`, undefined, { 'x-api-key': key })
  expect([refused.status, refused.body.error.details]).toEqual([403, { scope: 'admin' }])
  const revoked = await owner.call<Key>('DELETE', `/v1/keys/${id}`)
  expect(revoked.body.data.revoked_at).toEqual(expect.any(String))
  expect((await asSecond()).status).toBe(401)
})

test('a key on a plan without the API gets 402 that names the feature, everywhere but where the plan is told', async () => {
  const free = await app.tenant(undefined, { plan: 'free' })
  for (const [method, path] of [
    ['GET', '/v1/posts'],
    ['POST', '/v1/posts'],
    ['GET', '/v1/usage'],
  ] as const) {
    const { status, body } = await free.call(method, path)
    expect([status, body.error.code, body.error.details]).toEqual([
      402,
      'payment_required',
      { feature: 'api', plan: 'free' },
    ])
  }
  const billing = await free.call('GET', '/v1/billing')
  expect([billing.status, billing.body.data]).toMatchObject([200, { plan: { code: 'free' }, features: [] }])
})
