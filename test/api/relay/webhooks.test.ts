import type { WebhookDelivery } from '../../../src/webhooks/deliveries/schema.js'
import type { Endpoint, EndpointWithSecret } from '../../../src/webhooks/endpoints/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { Receiver } from '../../support/receiver.js'
import { until } from '../../support/until.js'

let app: App
let tenant: Tenant
let receiver: Receiver

beforeAll(async () => {
  receiver = await new Receiver().start()
  app = await startApp({ env: { EGRESS_ALLOW: receiver.host } })
})
beforeEach(async () => {
  tenant = await app.tenant()
})
afterAll(async () => {
  receiver.stop()
  await app.stop()
})

const register = (body: object, by = tenant) => by.call<EndpointWithSecret>('POST', '/v1/webhooks', body)
const list = async (by = tenant) => (await by.call<Endpoint[]>('GET', '/v1/webhooks')).body.data
const logOf = async (id: string, query = '') =>
  (await tenant.call<WebhookDelivery[]>('GET', `/v1/webhooks/${id}/deliveries${query}`)).body

test('an endpoint is shown as it was registered, and its secret only then', async () => {
  const { secret, ...endpoint } = await receiver.register(tenant, '/shown', ['post.published', 'post.failed'])
  expect(endpoint).toEqual({
    id: expect.stringMatching(/^whk_[0-9a-f]{32}$/),
    url: receiver.urlOf('/shown'),
    events: ['post.published', 'post.failed'],
    description: null,
    enabled: true,
    state: 'healthy',
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    secret_last4: secret.slice(-4),
    previous_secret_expires_at: null,
    created_at: expect.any(String),
  })
  expect(await list()).toEqual([endpoint])
})

const ENOUGH = { url: 'https://hooks.example.com/x', events: ['*'] }
const USER = 'user'

test.each([
  ['url', { url: 'ftp://hooks.example.com/' }],
  ['url', { url: 'http://hooks.example.com/' }],
  ['url', { url: 'https://hooks.example.com:22/' }],
  ['url', { url: `https://${USER}:x@hooks.example.com/` }],
  ['url', { url: 'https://hooks.example.com/#x' }],
  ['url', { url: 'https://127.0.0.1/' }],
  ['url', { url: 'https://[::1]/' }],
  ['url', { url: 'https://169.254.169.254/latest/meta-data' }],
  ['url', { url: 'https://localhost/' }],
  ['url', { url: 'https://db.internal/' }],
  ['url', { url: `https://hooks.example.com/${'x'.repeat(2030)}` }],
  ['url', { url: 'not an address' }],
  ['events', { events: [] }],
  ['events', { events: ['*', 'post.failed'] }],
  ['events', { events: ['post.failed', 'post.failed'] }],
  ['events.0', { events: ['post.invented'] }],
  ['events.0', { events: ['webhook.test'] }],
  ['secret', { secret: 'mine' }],
])('what cannot be registered is refused at %s: %j', async (path, wrong) => {
  const { status, body } = await register({ ...ENOUGH, ...wrong })
  expect([status, body.error.code, body.error.details['fields']]).toMatchObject([422, 'validation_failed', [{ path }]])
  expect(await list()).toEqual([])
})

test('a refused address is not told from another, and a public one is taken, on both ports', async () => {
  const messages = await Promise.all(
    ['https://10.0.0.1/', 'https://localhost/', 'http://93.184.216.34/'].map(
      async (url) => (await register({ ...ENOUGH, url })).body.error.details,
    ),
  )
  expect(new Set(messages.map((details) => JSON.stringify(details))).size).toBe(1)
  for (const url of ['https://93.184.216.34/x', 'https://93.184.216.34:8443/x'])
    expect((await register({ ...ENOUGH, url })).status).toBe(200)
})

test('a plan without webhooks needs another one; with few, the next is over the limit, however many come at once', async () => {
  const none = await app.tenant(undefined, { limits: { webhook_endpoints: 0 } })
  const refused = await register({ url: receiver.urlOf('/none'), events: ['*'] }, none)
  expect([refused.status, refused.body.error.code, refused.body.error.details]).toEqual([
    402,
    'payment_required',
    { feature: 'webhooks', plan: 'scale' },
  ])
  const few = await app.tenant(undefined, { limits: { webhook_endpoints: 3 } })
  const answers = await Promise.all(
    Array.from({ length: 9 }, (_, at) => register({ url: receiver.urlOf(`/few/${at}`), events: ['*'] }, few)),
  )
  const over = answers.filter(({ status }) => status === 429)
  expect([over.length, (await list(few)).length]).toEqual([6, 3])
  expect([over[0]!.body.error.code, over[0]!.body.error.details]).toEqual([
    'quota_exceeded',
    { limit: 'webhook_endpoints', max: 3, used: 3, resets_at: null },
  ])
})

test('an endpoint is changed, and is told only of the events that it chose', async () => {
  const { id } = await receiver.register(tenant, '/chose', ['post.failed'])
  const changed = await tenant.call<Endpoint>('PATCH', `/v1/webhooks/${id}`, {
    url: receiver.urlOf('/moved'),
    events: ['post.published'],
    description: 'shop',
  })
  expect(changed.body.data).toMatchObject({
    url: receiver.urlOf('/moved'),
    events: ['post.published'],
    description: 'shop',
  })
  const cleared = await tenant.call<Endpoint>('PATCH', `/v1/webhooks/${id}`, { description: null })
  expect(cleared.body.data).toMatchObject({ description: null, events: ['post.published'] })
  expect((await tenant.call('PATCH', `/v1/webhooks/${id}`, { url: 'https://127.0.0.1/' })).status).toBe(422)

  await tenant.settled((await tenant.post('chosen', [await tenant.connect()])).id)
  await receiver.untilReceived('/moved')
  const { data } = await logOf(id)
  expect(data.map(({ type }) => type)).toEqual(['post.published'])
  expect(receiver.at('/chose')).toEqual([])
})

test('one that is switched off is told nothing; what happened meanwhile is sent when it is recovered, each once', async () => {
  const { id } = await receiver.register(tenant, '/off', ['post.created'])
  const connection = await tenant.connect()
  const draft = (text: string) => tenant.post(text, [connection], { draft: true })
  const before = await draft('before')
  await receiver.untilReceived('/off')
  const off = await tenant.call<Endpoint>('PATCH', `/v1/webhooks/${id}`, { enabled: false })
  expect(off.body.data).toMatchObject({ enabled: false, state: 'disabled', disabled_reason: 'switched_off' })
  const missed = [await draft('missed'), await draft('missed too')]
  for (const path of ['test', 'recover']) {
    const body = path === 'recover' ? { since: before.created_at } : undefined
    const refused = await tenant.call('POST', `/v1/webhooks/${id}/${path}`, body)
    expect([refused.status, refused.body.error.details]).toMatchObject([
      422,
      { reason: 'invalid_state', allowed_actions: ['enable'] },
    ])
  }
  await tenant.call('PATCH', `/v1/webhooks/${id}`, { enabled: true })
  const after = await draft('after')
  const recover = () =>
    tenant.call<{ requeued: number }>('POST', `/v1/webhooks/${id}/recover`, { since: before.created_at })
  expect([(await recover()).body.data, (await recover()).body.data]).toEqual([{ requeued: 2 }, { requeued: 0 }])
  const received = await receiver.untilReceived('/off', 4)
  expect(received.map(({ event }) => event.data['post_id']).sort()).toEqual(
    [before, ...missed, after].map((post) => post.id).sort(),
  )
})

test('the log is paged, filtered and newest first, and shows each attempt', async () => {
  const { id } = await receiver.register(tenant, '/log')
  for (let count = 0; count < 4; count++) await tenant.call('POST', `/v1/webhooks/${id}/test`)
  await until('all were taken', async () => (await logOf(id, '?status=succeeded')).data.length === 4)
  const { data: all } = await logOf(id)
  expect(all.map((row) => row.id)).toEqual(
    all
      .map((row) => row.id)
      .toSorted()
      .toReversed(),
  )
  expect(all[0]).toMatchObject({ type: 'webhook.test', status: 'succeeded', next_attempt_at: null })
  expect(all[0]!.attempts).toEqual([
    {
      number: 1,
      at: expect.any(String),
      duration_ms: expect.any(Number),
      http_status: 204,
      error: null,
      response_excerpt: '',
    },
  ])
  const { data: first, meta } = await logOf(id, '?limit=3')
  const { next_cursor, has_more } = meta as { next_cursor: string; has_more: boolean }
  expect(has_more).toBe(true)
  expect([...first, ...(await logOf(id, `?limit=3&cursor=${next_cursor}`)).data]).toEqual(all)
  expect((await logOf(id, '?status=failed')).data).toEqual([])
})

test('nothing of another organisation is there', async () => {
  const { id } = await receiver.register(tenant, '/mine')
  const tested = await tenant.call<{ delivery_id: string }>('POST', `/v1/webhooks/${id}/test`)
  const other = await app.tenant()
  const theirs = await receiver.register(other, '/theirs')
  const { delivery_id } = tested.body.data
  const calls: [string, string, object?][] = [
    ['PATCH', `/v1/webhooks/${id}`, { enabled: false }],
    ['DELETE', `/v1/webhooks/${id}`],
    ['POST', `/v1/webhooks/${id}/rotate`],
    ['POST', `/v1/webhooks/${id}/test`],
    ['GET', `/v1/webhooks/${id}/deliveries`],
    ['POST', `/v1/webhooks/${id}/recover`, { since: '2026-01-01T00:00:00Z' }],
    ['POST', `/v1/webhooks/${id}/deliveries/${delivery_id}/replay`],
    ['POST', `/v1/webhooks/${theirs.id}/deliveries/${delivery_id}/replay`],
  ]
  const unknown = await other.call('DELETE', `/v1/webhooks/whk_${'0'.repeat(32)}`)
  for (const [method, path, body] of calls) {
    const answer = await other.call(method, path, body)
    expect([path, answer.status, answer.body]).toEqual([path, 404, unknown.body])
  }
  expect((await list(other)).map((each) => each.id)).toEqual([theirs.id])
  await other.post('theirs', [await other.connect()], { draft: true })
  await receiver.untilReceived('/theirs')
  await receiver.untilReceived('/mine')
  expect(receiver.at('/mine').map(({ event }) => event.type)).toEqual(['webhook.test'])
})

test('a key without admin may do nothing here', async () => {
  const reader = await app.tenant(['read', 'publish', 'connect'])
  for (const [method, path] of [
    ['GET', '/v1/webhooks'],
    ['POST', '/v1/webhooks'],
  ] as const)
    expect((await reader.call(method, path)).body.error.details).toEqual({ scope: 'admin' })
})
