import { startApp, type App, type Tenant } from '../../support/app.js'
import { startFaultyProxy, type FaultyProxy } from '../../support/faulty-proxy.js'
import type { FakeServer } from '../../support/servers/fake-server.js'
import { MASTODON_TOKEN, startMastodon } from '../../support/servers/mastodon.js'
import { until } from '../../support/until.js'

let server: FakeServer
let proxy: FaultyProxy
let app: App
let tenant: Tenant
let connection: string

beforeAll(async () => {
  server = await startMastodon()
  proxy = await startFaultyProxy(server.url)
  app = await startApp({ env: { EGRESS_ALLOW: new URL(proxy.url).host } })
  tenant = await app.tenant()
  const fields = { instance_url: proxy.url, access_token: MASTODON_TOKEN }
  const { body } = await tenant.call<{ id: string }>('POST', '/v1/connections', { platform: 'mastodon', fields })
  connection = body.data.id
})
afterAll(async () => {
  await app.stop()
  await proxy.stop()
  server.stop()
})

const publish = /^\/api\/v1\/statuses$/
const landed = (text: string) => server.landed.filter((each) => each.text === text).length

/** Waits for the first attempt to come to a state, and makes it two hours old. */
async function age(deliveryId: string, state: string): Promise<void> {
  await until(`an attempt is ${state}`, async () => {
    const { count } = await app.sql`
      update attempts set sent_at = sent_at - interval '2 hours' where delivery_id = ${deliveryId} and state = ${state}`
    return count === 1
  })
}

test('what may have landed is not sent again once the platform does not keep its key any more: the outcome is told as unknown', async () => {
  proxy.faults.push({ path: publish, forward: true, reply: 'cut' })
  const { id, deliveries } = await tenant.post('cut long ago', [connection])
  await age(deliveries[0]!.id, 'sent')
  const post = await tenant.settled(id)
  expect(post.deliveries[0]).toMatchObject({ status: 'failed', error_code: 'publish_indeterminate' })
  expect(landed('cut long ago')).toBe(1)
})

test('nor when its turn comes again after a long wait', async () => {
  proxy.faults.push({
    path: publish,
    forward: true,
    reply: { status: 503, headers: { 'retry-after': '6' }, body: '<html></html>' },
  })
  const { id, deliveries } = await tenant.post('waited long', [connection])
  await age(deliveries[0]!.id, 'unknown')
  const post = await tenant.settled(id)
  expect(post.deliveries[0]).toMatchObject({ status: 'failed', error_code: 'publish_indeterminate' })
  const attempts = await tenant.attempts(deliveries[0]!)
  expect([attempts.map(({ state }) => state), landed('waited long')]).toEqual([['not_sent', 'unknown'], 1])
})

test('nor when the budget ends without an answer', async () => {
  proxy.faults.push({
    path: publish,
    forward: true,
    reply: { status: 500, headers: { 'content-type': 'application/json' }, body: '{}' },
    times: 8,
  })
  const { id, deliveries } = await tenant.post('never answered', [connection])
  const post = await tenant.settled(id, 60_000)
  expect(post.deliveries[0]).toMatchObject({ status: 'failed', error_code: 'publish_indeterminate', attempts: 8 })
  expect(landed('never answered')).toBe(1)
  const retried = await tenant.call<{ skipped: unknown[] }>('POST', `/v1/posts/${id}/retry`)
  expect(retried.body.data.skipped).toHaveLength(1)
  expect((await tenant.call('POST', `/v1/deliveries/${deliveries[0]!.id}/retry`)).status).toBe(409)
})

test('the length of a status: an address is 23 long, of a mention only the name counts', async () => {
  const { mastodonLength } = await import('../../../src/relay/platforms/mastodon.js')
  expect(mastodonLength('https://example.com/a/very/long/address?with=a&query')).toBe(23)
  expect(mastodonLength('see https://a.b, and (https://c.d/e).')).toBe(
    'see '.length + 23 + ', and ('.length + 23 + ').'.length,
  )
  expect(mastodonLength('@alice@mastodon.social hi')).toBe('@alice hi'.length)
  expect(mastodonLength('👨‍👩‍👧‍👦é')).toBe(2)
})
