import { createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import type { EndpointWithSecret } from '../../src/webhooks/endpoints/schema.js'
import { startApp, type App, type Tenant } from '../support/app.js'
import { Receiver, type Received } from '../support/receiver.js'

let app: App
let tenant: Tenant
let receiver: Receiver

beforeAll(async () => {
  receiver = await new Receiver().start()
  app = await startApp({ env: { EGRESS_ALLOW: receiver.host } })
  tenant = await app.tenant()
})
afterAll(async () => {
  receiver.stop()
  await app.stop()
})

const stripe = new Stripe('sk_test_unused')
const header = ({ headers }: Received) => String(headers['x-relay-signature'])
const withStripe = (received: Received, secret: string) =>
  stripe.webhooks.constructEvent(received.raw, header(received), secret)
const withStandard = ({ raw, headers }: Received, secret: string) =>
  new Webhook(secret).verify(raw.toString(), headers as Record<string, string>)
const isOurs = (received: Received, secret: string, now = Date.now()) => {
  // The rule as relay.md writes it: HMAC over `<t>.<raw body>`, 300 seconds in either direction.
  const parts = header(received)
    .split(',')
    .map((part) => part.split('=') as [string, string])
  const t = Number(parts.find(([name]) => name === 't')?.[1])
  const own = createHmac('sha256', secret).update(`${t}.`).update(received.raw).digest()
  const signed = parts.some(([name, hex]) => name === 'v1' && timingSafeEqual(own, Buffer.from(hex, 'hex')))
  return signed && Math.abs(now / 1000 - t) <= 300
}

const verifies = (received: Received, secret: string) => {
  const holds = (check: () => unknown) => {
    try {
      check()
      return true
    } catch {
      return false
    }
  }
  return [
    isOurs(received, secret),
    holds(() => withStripe(received, secret)),
    holds(() => withStandard(received, secret)),
  ]
}
const ALL = [true, true, true]
const NONE = [false, false, false]

const rotate = async (id: string, body?: object) => {
  const answer = await tenant.call<EndpointWithSecret>('POST', `/v1/webhooks/${id}/rotate`, body)
  return { ...answer.body.data, secret: answer.body.data.secret! }
}
async function receiveTest(path: string, id: string): Promise<Received> {
  const before = receiver.at(path).length
  await tenant.call('POST', `/v1/webhooks/${id}/test`)
  return (await receiver.untilReceived(path, before + 1)).at(-1)!
}
const countV1 = (received: Received) => header(received).split(',v1=').length - 1

test('a received event passes the verifiers of Stripe, of Standard Webhooks and our own rule, and no other secret or byte does', async () => {
  const { id, secret } = await receiver.register(tenant, '/signed')
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const received = await receiveTest('/signed', id)
  expect(header(received)).toMatch(/^t=\d{10},v1=[0-9a-f]{64}$/)
  expect(verifies(received, secret)).toEqual(ALL)
  expect(verifies(received, `whsec_${Buffer.alloc(32).toString('base64')}`)).toEqual(NONE)
  const tampered = { ...received, raw: Buffer.concat([received.raw, Buffer.from(' ')]) }
  expect(verifies(tampered, secret)).toEqual(NONE)
  expect(isOurs(received, secret, Date.now() + 302_000)).toBe(false)
  expect(isOurs(received, secret, Date.now() - 302_000)).toBe(false)
})

test('the headers name the event and the delivery, and the body is what is documented', async () => {
  const { id } = await receiver.register(tenant, '/headers', ['post.failed'])
  const tested = await tenant.call<{ delivery_id: string; event_id: string; status: string }>(
    'POST',
    `/v1/webhooks/${id}/test`,
  )
  const { delivery_id, event_id } = tested.body.data
  const [{ headers, event }] = (await receiver.untilReceived('/headers')) as [Received]
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'x-relay-event': 'webhook.test',
    'x-relay-delivery': delivery_id,
    'webhook-id': delivery_id,
  })
  expect(event).toEqual({
    id: event_id,
    type: 'webhook.test',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
    data: { endpoint_id: id },
  })
})

test('a rotation without an overlap ends the old secret at once', async () => {
  const { id, secret } = await receiver.register(tenant, '/rotated')
  const rotated = await rotate(id)
  expect([rotated.secret_last4, rotated.previous_secret_expires_at]).toEqual([rotated.secret.slice(-4), null])
  const received = await receiveTest('/rotated', id)
  expect(countV1(received)).toBe(1)
  expect(verifies(received, rotated.secret)).toEqual(ALL)
  expect(verifies(received, secret)).toEqual(NONE)
})

test('a rotation with an overlap signs with both until it ends; a second one within it ends the oldest at once', async () => {
  const { id, secret: first } = await receiver.register(tenant, '/overlap')
  const second = await rotate(id, { overlap_hours: 1 })
  const inAnHour = Date.parse(second.previous_secret_expires_at!) - Date.now()
  expect(Math.abs(inAnHour - 3_600_000)).toBeLessThan(60_000)
  const both = await receiveTest('/overlap', id)
  expect(countV1(both)).toBe(2)
  expect([verifies(both, first), verifies(both, second.secret)]).toEqual([ALL, ALL])

  const third = await rotate(id, { overlap_hours: 1 })
  const newest = await receiveTest('/overlap', id)
  expect([verifies(newest, first), verifies(newest, second.secret), verifies(newest, third.secret)]).toEqual([
    NONE,
    ALL,
    ALL,
  ])
  await app.sql`update webhook_endpoints set previous_secret_expires_at = now() where id = ${id}`
  const after = await receiveTest('/overlap', id)
  expect([verifies(after, second.secret), verifies(after, third.secret), countV1(after)]).toEqual([NONE, ALL, 1])
})

test('an answer that is replayed has no secret, and its row neither', async () => {
  const ask = (headers: Record<string, string>) =>
    tenant.call<EndpointWithSecret>(
      'POST',
      '/v1/webhooks',
      { url: receiver.urlOf('/replayed'), events: ['*'] },
      headers,
    )
  const [fresh, replayed] = [await ask({ 'idempotency-key': 'hook' }), await ask({ 'idempotency-key': 'hook' })]
  expect(fresh.body.data.secret).toMatch(/^whsec_/)
  expect(replayed.headers.get('idempotent-replayed')).toBe('true')
  expect(replayed.body.data).toEqual({ ...fresh.body.data, secret: null })
})
