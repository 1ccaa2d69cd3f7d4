import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startApp, type App, type Tenant } from '../../support/app.js'

let app: App
let tenant: Tenant
let server: Server
let service: string
let answer: RequestListener

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  service = `http://127.0.0.1:${port}`
  app = await startApp({ worker: false, env: { EGRESS_ALLOW: `127.0.0.1:${port}` } })
  tenant = await app.tenant()
})
afterAll(async () => {
  await app.stop()
  server.close()
})

const connect = (fields: Record<string, string>) =>
  tenant.call('POST', '/v1/connections', {
    platform: 'bluesky',
    fields: { identifier: 'a.test', app_password: 'xxxx', ...fields },
  })
const none = async () => (await app.sql`select 1 from connections where platform = 'bluesky'`).length

describe('a Bluesky account that cannot be connected: the field to change is named, nothing is written', () => {
  test.each<[string, string | null, RequestListener, string, RegExp]>([
    [
      'a service on loopback',
      'http://127.0.0.1:9',
      () => undefined,
      'fields.service',
      /not an address that may be called/,
    ],
    [
      'a service in the private network',
      'https://10.0.0.5',
      () => undefined,
      'fields.service',
      /not an address that may be called/,
    ],
    [
      'the metadata address',
      'http://169.254.169.254',
      () => undefined,
      'fields.service',
      /not an address that may be called/,
    ],
    ['an address that is none', 'bsky', () => undefined, 'fields.service', /address of a server/],
    [
      'a redirect to loopback',
      null,
      (_q, r) => void r.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
      'fields.service',
      /redirects elsewhere/,
    ],
    [
      'a web site',
      null,
      (_q, r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      'fields.service',
      /does not answer as a Bluesky server/,
    ],
    [
      'another API',
      null,
      (_q, r) => void r.writeHead(404).end('{"error":"no such route"}'),
      'fields.service',
      /does not answer as a Bluesky server/,
    ],
    [
      'a wrong app password',
      null,
      (_q, r) =>
        void r.writeHead(401).end('{"error":"AuthenticationRequired","message":"Invalid identifier or password"}'),
      'fields.app_password',
      /does not accept these credentials/,
    ],
  ])('%s', async (_what, address, listener, path, message) => {
    answer = listener
    const { status, body } = await connect({ service: address ?? service })
    expect([status, body.error.code]).toEqual([422, 'validation_failed'])
    expect(body.error.details['fields']).toEqual([{ path, message: expect.stringMatching(message) }])
    expect(JSON.stringify(body)).not.toContain('xxxx')
    expect(await none()).toBe(0)
  })

  test.each<[string, RequestListener]>([
    ['a service that is down', (_q, r) => void r.writeHead(503).end('{}')],
    ['a service that cuts the line', (q) => void q.socket.destroy()],
  ])('%s is 503, to be tried again', async (_what, listener) => {
    answer = listener
    const { status, body } = await connect({ service })
    expect([status, body.error.code]).toEqual([503, 'platform_unavailable'])
    expect(await none()).toBe(0)
  })
})

test('verify refreshes what is shown, flags what is not accepted any more, and finds no other organisation’s connection', async () => {
  const id = await tenant.connect('verified')
  await app.sql`update connections set handle = 'stale', status = 'reauth_required' where id = ${id}`
  const fresh = await tenant.call<{ handle: string; status: string }>('POST', `/v1/connections/${id}/verify`)
  expect(fresh.body.data).toMatchObject({ handle: 'verified', status: 'active' })

  // The sandbox expires the token; verify renews it and the account stays active.
  await app.sql`update sandbox_accounts set expired = true where name = 'verified'`
  expect((await tenant.call<{ status: string }>('POST', `/v1/connections/${id}/verify`)).body.data.status).toBe(
    'active',
  )

  // A token nobody knows can be neither used nor renewed.
  await app.sql`update sandbox_accounts set token = 'x' where name = 'verified'`
  const flagged = await tenant.call<{ status: string; last_error: { code: string } }>(
    'POST',
    `/v1/connections/${id}/verify`,
  )
  expect([flagged.status, flagged.body.data.status, flagged.body.data.last_error.code]).toEqual([
    200,
    'revoked',
    'auth_revoked',
  ])

  const stranger = await app.tenant()
  expect((await stranger.call('POST', `/v1/connections/${id}/verify`)).status).toBe(404)
})

describe('a connection', () => {
  type Shown = { id: string; status: string; metadata: object }
  const patch = (id: string, body: unknown) => tenant.call<Shown>('PATCH', `/v1/connections/${id}`, body)

  test('is listed and read without its credentials', async () => {
    const id = await tenant.connect('listed')
    const listed = await tenant.call<Shown[]>('GET', '/v1/connections?platform=sandbox&status=active')
    const read = await tenant.call<Shown>('GET', `/v1/connections/${id}`)
    expect(listed.body.data).toContainEqual(read.body.data)
    expect(JSON.stringify(read.body)).not.toMatch(/credentials|token"/)
    expect((await tenant.call<Shown[]>('GET', '/v1/connections?platform=bluesky')).body.data).toEqual([])
  })

  test('is given metadata when it is made, and keeps it when it is connected anew', async () => {
    const connect = (metadata?: object) =>
      tenant.call<Shown>('POST', '/v1/connections', {
        platform: 'sandbox',
        fields: { name: 'with metadata' },
        metadata,
      })
    expect((await connect({ channel: 'news', a: null })).body.data.metadata).toEqual({ channel: 'news' })
    expect((await connect({ b: 1 })).body.data.metadata).toEqual({ channel: 'news', b: 1 })
    expect((await connect()).body.data.metadata).toEqual({ channel: 'news', b: 1 })
  })

  test('beyond the plan is refused, the same account anew is not', async () => {
    const customer = await app.tenant(undefined, { limits: { connections: 1 } })
    const connect = (name: string) =>
      customer.call('POST', '/v1/connections', { platform: 'sandbox', fields: { name } })
    expect([(await connect('a')).status, (await connect('a')).status]).toEqual([200, 200])
    const refused = await connect('b')
    expect([refused.status, refused.body.error.code, refused.body.error.details]).toEqual([
      429,
      'quota_exceeded',
      { limit: 'connections', max: 1, used: 1, resets_at: null },
    ])
    expect((await customer.call<unknown[]>('GET', '/v1/connections')).body.data).toHaveLength(1)
  })

  test('merges metadata one level deep, null takes a key away', async () => {
    const id = await tenant.connect('metadata')
    await patch(id, { metadata: { a: 1, b: { c: null }, d: 'x' } })
    const { body } = await patch(id, { metadata: { a: 2, d: null } })
    expect(body.data.metadata).toEqual({ a: 2, b: { c: null } })
    expect((await patch(id, { metadata: { a: 'x'.repeat(16_001) } })).status).toBe(422)
    const nul = await patch(id, { metadata: { a: 'x\0' } })
    expect([nul.status, nul.body.error.details['reason']]).toEqual([422, 'bad_encoding'])
    expect((await patch(id, { handle: 'other' })).status).toBe(422)
  })

  test('is switched off and on; one that asks to be reconnected is not switched on by hand', async () => {
    const id = await tenant.connect('switch')
    expect((await patch(id, { status: 'disabled' })).body.data.status).toBe('disabled')
    expect((await patch(id, { status: 'active' })).body.data.status).toBe('active')
    await app.sql`update connections set status = 'reauth_required' where id = ${id}`
    expect((await patch(id, { status: 'active' })).body.data.status).toBe('reauth_required')
  })

  test('that is deleted loses its credentials, cancels what is pending and is not found again; its history stays', async () => {
    const id = await tenant.connect('deleted')
    const post = await tenant.post('never sent', [id], { scheduled_at: new Date(Date.now() + 3_600_000).toISOString() })
    const { body } = await tenant.call('DELETE', `/v1/connections/${id}`)
    expect(body.data).toEqual({ id, deleted: true, cancelled_deliveries: 1 })
    expect((await tenant.read(post.id)).deliveries[0]).toMatchObject({
      status: 'cancelled',
      connection_id: id,
      handle: 'deleted',
    })
    expect((await tenant.read(post.id)).status).toBe('cancelled')
    const [row] = await app.sql<{ credentials: string | null }[]>`select credentials from connections where id = ${id}`
    expect(row?.credentials).toBeNull()
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/verify'],
    ] as const)
      expect((await tenant.call(method, `/v1/connections/${id}${path}`)).status).toBe(404)
    expect((await tenant.call('POST', '/v1/posts', { content: { text: 'x' }, connection_ids: [id] })).status).toBe(404)
    expect(await tenant.connect('deleted')).not.toBe(id)
  })

  test('of another organisation does not exist', async () => {
    const id = await tenant.connect('mine')
    const stranger = await app.tenant()
    for (const [method, body] of [['GET'], ['PATCH', { metadata: {} }], ['DELETE']] as const)
      expect((await stranger.call(method, `/v1/connections/${id}`, body)).status).toBe(404)
    expect((await tenant.call<Shown>('GET', `/v1/connections/${id}`)).body.data.status).toBe('active')
  })
})

describe('platforms', () => {
  type Shown = { id: string; fields: string[]; connect_schema: { properties: object } }
  test('need no key, say what connecting takes, and can be filtered', async () => {
    const { status, body } = await app.call<Shown[]>('GET', '/v1/platforms')
    expect([status, body.data.map(({ id }) => id)]).toEqual([200, ['bluesky', 'mastodon', 'webhook_post', 'sandbox']])
    expect(body.data[0]).toMatchObject({
      fields: ['identifier', 'app_password'],
      available: true,
      auth: { kind: 'app_password' },
    })
    expect(Object.keys(body.data[0]!.connect_schema.properties)).toEqual(['service', 'identifier', 'app_password'])
    expect((await app.call<Shown>('GET', '/v1/platforms/bluesky')).body.data).toEqual(body.data[0])
    expect(
      (await app.call<Shown[]>('GET', '/v1/platforms?category=other&available=true&status=open')).body.data.map(
        ({ id }) => id,
      ),
    ).toEqual(['webhook_post', 'sandbox'])
    expect((await app.call('GET', '/v1/platforms/nowhere')).status).toBe(404)
  })
})
