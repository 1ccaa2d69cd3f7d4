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
