import { enqueueLanes } from '../../src/outbox/outbox.js'
import { startApp, type App, type Tenant } from '../support/app.js'
import { deliveriesOf, endpointOf, sendTest, untilAttempted } from '../support/hooks.js'
import { Receiver } from '../support/receiver.js'
import { until } from '../support/until.js'

let app: App
let tenant: Tenant
let receiver: Receiver

beforeAll(async () => {
  receiver = await new Receiver().start()
  // Longer than usual: a busy machine is not a slow receiver.
  app = await startApp({
    env: { EGRESS_ALLOW: receiver.host, WEBHOOK_TIMEOUT_MS: '15000' },
  })
})
beforeEach(async () => {
  tenant = await app.tenant()
})
afterAll(async () => {
  receiver.stop()
  await app.stop()
})

/** Fails so many times with the status, then answers 204. */
function failTimes(path: string, times: number, status = 500, headers: Record<string, string> = {}): void {
  let left = times
  receiver.answer(path, (response) => void response.writeHead(left-- > 0 ? status : 204, headers).end())
}

test('what fails is tried again under the same id and with the same bytes, each attempt signed anew, and is written down', async () => {
  const { id } = await receiver.register(tenant, '/again')
  failTimes('/again', 3)
  const delivery = await sendTest(tenant, id)
  const received = await receiver.untilReceived('/again', 4)
  expect(new Set(received.map(({ headers }) => headers['x-relay-delivery']))).toEqual(new Set([delivery]))
  expect(new Set(received.map(({ raw }) => raw.toString())).size).toBe(1)
  // The last comes two seconds and more after the first.
  expect(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size).toBeGreaterThan(1)
  expect(new Set(received.map(({ headers }) => headers['x-relay-signature'])).size).toBeGreaterThan(1)
  const { status, attempts } = await until('it succeeded', async () => {
    const [row] = await deliveriesOf(tenant, id)
    return row?.status === 'succeeded' && row
  })
  expect(status).toBe('succeeded')
  expect(attempts.map(({ number, http_status, error }) => [number, http_status, error])).toEqual([
    [4, 204, null],
    [3, 500, 'The receiver answered 500.'],
    [2, 500, 'The receiver answered 500.'],
    [1, 500, 'The receiver answered 500.'],
  ])
  expect(await endpointOf(tenant, id)).toMatchObject({ state: 'healthy', failing_since: null })
})

test('the tenth failure is the last; a replay begins anew under the same id', async () => {
  const { id } = await receiver.register(tenant, '/last')
  receiver.answer('/last', 500)
  const delivery = await sendTest(tenant, id)
  await untilAttempted(tenant, id, delivery)
  expect(await endpointOf(tenant, id)).toMatchObject({ state: 'failing', failing_since: expect.any(String) })
  await app.sql`update webhook_deliveries set failures = 9 where id = ${delivery}`
  const failed = await until('it failed', async () => {
    const [row] = await deliveriesOf(tenant, id)
    return row?.status === 'failed' && row
  })
  expect(failed.next_attempt_at).toBeNull()

  receiver.answer('/last', 204)
  const replayed = await tenant.call<{ id: string; status: string }>(
    'POST',
    `/v1/webhooks/${id}/deliveries/${delivery}/replay`,
  )
  expect(replayed.body.data).toMatchObject({ id: delivery, status: 'pending' })
  await until('it succeeded', async () => (await deliveriesOf(tenant, id))[0]?.status === 'succeeded')
  const received = receiver.at('/last')
  expect(new Set(received.map(({ headers, raw }) => `${String(headers['x-relay-delivery'])} ${raw}`)).size).toBe(1)
})

test('what succeeded can be replayed too, and arrives again under the same id', async () => {
  const { id } = await receiver.register(tenant, '/twice')
  const delivery = await sendTest(tenant, id)
  await until('it succeeded', async () => (await deliveriesOf(tenant, id))[0]?.status === 'succeeded')
  await tenant.call('POST', `/v1/webhooks/${id}/deliveries/${delivery}/replay`)
  const received = await receiver.untilReceived('/twice', 2)
  expect(received.map(({ headers }) => headers['x-relay-delivery'])).toEqual([delivery, delivery])
})

test('Retry-After lengthens the wait and holds the whole endpoint', async () => {
  const { id } = await receiver.register(tenant, '/busy')
  failTimes('/busy', 1, 429, { 'retry-after': '2' })
  const first = await sendTest(tenant, id)
  const { next_attempt_at } = await untilAttempted(tenant, id, first)
  expect(Date.parse(next_attempt_at!) - receiver.at('/busy')[0]!.at).toBeGreaterThan(1_500)
  const second = await sendTest(tenant, id)
  const [refused, ...later] = await receiver.untilReceived('/busy', 3)
  expect(new Set(later.map(({ headers }) => headers['x-relay-delivery']))).toEqual(new Set([first, second]))
  for (const { at } of later) expect(at - refused!.at).toBeGreaterThan(1_500)
})

test('410 switches the endpoint off at once, holds what is pending and is written down; recovered, it goes out', async () => {
  const { id } = await receiver.register(tenant, '/gone')
  receiver.answer('/gone', 503)
  const held = await sendTest(tenant, id)
  await untilAttempted(tenant, id, held)
  await app.sql`update webhook_deliveries set due_at = now() + interval '1 hour' where id = ${held}`
  await app.sql`update webhook_endpoints set held_until = null where id = ${id}`
  receiver.answer('/gone', 410)
  const gone = await sendTest(tenant, id)
  await until('it is off', async () => (await endpointOf(tenant, id)).state === 'disabled')
  expect(await endpointOf(tenant, id)).toMatchObject({
    enabled: false,
    disabled_reason: 'gone',
    disabled_at: expect.any(String),
  })
  const statuses = async () =>
    Object.fromEntries((await deliveriesOf(tenant, id)).map((each) => [each.id, each.status] as const))
  expect(await statuses()).toEqual({ [held]: 'held', [gone]: 'held' })
  const audit = await tenant.call<{ actor: { kind: string } }[]>('GET', '/v1/org/audit?action=webhook.disabled')
  expect(audit.body.data).toMatchObject([{ actor: { kind: 'system' }, target: { kind: 'webhook', id } }])

  receiver.answer('/gone', 204)
  await tenant.call('PATCH', `/v1/webhooks/${id}`, { enabled: true })
  expect(await statuses()).toEqual({ [held]: 'held', [gone]: 'held' })
  const recovered = await tenant.call('POST', `/v1/webhooks/${id}/recover`, {
    since: new Date(Date.now() - 60_000).toISOString(),
  })
  expect(recovered.body.data).toEqual({ requeued: 2 })
  await until('both are taken', async () => Object.values(await statuses()).every((status) => status === 'succeeded'))
})

test('five days without a success and ten failures half a day apart switch an endpoint off, and not before', async () => {
  const { id } = await receiver.register(tenant, '/dead')
  receiver.answer('/dead', 500)
  const age = (well: string, failing: string, failed: number) => app.sql`
    update webhook_endpoints set well_at = now() - ${well}::interval, failing_since = now() - ${failing}::interval,
      failed_attempts = ${failed}, probe_at = null where id = ${id}`
  const fail = async () => untilAttempted(tenant, id, await sendTest(tenant, id))
  await fail()
  for (const [well, failing, failed] of [
    ['4 days 23 hours', '13 hours', 20],
    ['6 days', '11 hours', 20],
    ['6 days', '13 hours', 3],
  ] as const) {
    await app.sql`update webhook_deliveries set status = 'failed' where endpoint_id = ${id}`
    await age(well, failing, failed)
    await fail()
    expect((await endpointOf(tenant, id)).state).toBe('failing')
  }
  await age('5 days 1 second', '12 hours 1 second', 9)
  await sendTest(tenant, id)
  await until('it is off', async () => (await endpointOf(tenant, id)).state === 'disabled')
  expect(await endpointOf(tenant, id)).toMatchObject({ disabled_reason: 'failing' })
  expect((await tenant.call<unknown[]>('GET', '/v1/org/audit?action=webhook.disabled')).body.data).toHaveLength(1)
})

test('a deleted endpoint gets nothing of what was pending', async () => {
  const { id } = await receiver.register(tenant, '/deleted')
  receiver.answer('/deleted', 500)
  const delivery = await sendTest(tenant, id)
  await untilAttempted(tenant, id, delivery)
  await app.sql`update webhook_deliveries set due_at = now() + interval '1 hour' where id = ${delivery}`
  const deleted = await tenant.call('DELETE', `/v1/webhooks/${id}`)
  expect(deleted.body.data).toEqual({ id, deleted: true })
  const before = receiver.at('/deleted').length
  await app.sql`update webhook_deliveries set due_at = now() where id = ${delivery}`
  const other = await receiver.register(tenant, '/after')
  await sendTest(tenant, other.id)
  await receiver.untilReceived('/after')
  expect(receiver.at('/deleted')).toHaveLength(before)
  expect((await tenant.call('GET', `/v1/webhooks/${id}/deliveries`)).status).toBe(404)
  const rows = await app.sql`select status from webhook_deliveries where id = ${delivery}`
  expect(rows).toEqual([{ status: 'failed' }])
  expect(
    await app.sql`select from webhook_endpoints where id = ${id} and (secret is not null or previous_secret is not null)`,
  ).toHaveLength(0)
})

test('what is written for an endpoint while it is switched off is held', async () => {
  const { id } = await receiver.register(tenant, '/late')
  const delivery = await sendTest(tenant, id)
  await until('it was taken', async () => (await deliveriesOf(tenant, id))[0]?.status === 'succeeded')
  await tenant.call('PATCH', `/v1/webhooks/${id}`, { enabled: false })
  // As by a transaction that began before, and committed after.
  await app.sql`update webhook_deliveries set status = 'pending', due_at = now() where id = ${delivery}`
  await enqueueLanes(app.sql, [id])
  await until('it is held', async () => (await deliveriesOf(tenant, id))[0]?.status === 'held')
  expect(receiver.at('/late')).toHaveLength(1)
})

test('an endpoint that fails ten times in a row is only probed; a probe that succeeds lets everything go', async () => {
  const { id } = await receiver.register(tenant, '/breaker')
  receiver.answer('/breaker', 500)
  const isOpen = async () =>
    (await app.sql`select from webhook_endpoints where id = ${id} and probe_at is not null`).length === 1
  await Promise.all(Array.from({ length: 12 }, () => sendTest(tenant, id)))
  await until('the breaker is open', isOpen)
  // Half-open in an hour: nothing is sent, whatever is due.
  await app.sql`update webhook_endpoints set probe_at = now() + interval '1 hour' where id = ${id}`
  const idle = () => app.sql`select from webhook_deliveries where endpoint_id = ${id} and claimed_until is not null`
  await until('nothing is under way', async () => (await idle()).length === 0)
  const before = receiver.at('/breaker').length
  const other = await receiver.register(tenant, '/breaker/other')
  await Promise.all([sendTest(tenant, id), sendTest(tenant, other.id)])
  await receiver.untilReceived('/breaker/other')
  expect(receiver.at('/breaker')).toHaveLength(before)

  receiver.answer('/breaker', 204)
  await app.sql`update webhook_endpoints set probe_at = now() where id = ${id}`
  await sendTest(tenant, id) // wakes the lane, which would sleep for that hour
  await until('all are taken', async () =>
    (await deliveriesOf(tenant, id)).every(({ status }) => status === 'succeeded'),
  )
  expect(await isOpen()).toBe(false)
})

test('at most four are in flight to an endpoint, and one until it has ever taken any', async () => {
  const { id } = await receiver.register(tenant, '/wide')
  const held: (() => void)[] = []
  receiver.answer('/wide', (response) => void held.push(() => void response.writeHead(204).end()))
  const flights = async () =>
    (await app.sql`select from webhook_deliveries where endpoint_id = ${id} and claimed_until > now()`).length
  await Promise.all(Array.from({ length: 9 }, () => sendTest(tenant, id)))
  await until('the first is there', () => held.length === 1)
  expect(await flights()).toBe(1)
  held.shift()?.()
  await until('four are there', () => held.length === 4)
  expect(await flights()).toBe(4)
  receiver.answer('/wide', 204)
  for (const answer of held.splice(0)) answer()
  await until('all are taken', async () =>
    (await deliveriesOf(tenant, id)).every(({ status }) => status === 'succeeded'),
  )
})
