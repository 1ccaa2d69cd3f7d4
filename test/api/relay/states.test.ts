import type { DeliveryStatus } from '../../../src/relay/deliveries/schema.js'
import { DeliveryStatus as DeliveryStatuses } from '../../../src/relay/deliveries/schema.js'
import { PostStatus } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'

/** relay.md, Transitions that are shown: who may be published and scheduled. Retrying and cancelling answer 200 in every state and say what they did. */
const MAY_PUBLISH: PostStatus[] = ['draft', 'scheduled']
const MAY_SCHEDULE: PostStatus[] = ['draft', 'scheduled', 'queued', 'publishing']
const allowedIn = (status: PostStatus) => [
  ...(MAY_PUBLISH.includes(status) ? ['publish'] : []),
  ...(MAY_SCHEDULE.includes(status) ? ['schedule'] : []),
  'retry',
  'delete',
]

/** What a delivery of such a post may look like. */
const DELIVERY_IN: Record<PostStatus, DeliveryStatus> = {
  draft: 'pending',
  pending_approval: 'pending',
  scheduled: 'pending',
  queued: 'pending',
  publishing: 'processing',
  published: 'succeeded',
  partial: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
}

let app: App
let tenant: Tenant
let connection: string

beforeAll(async () => {
  app = await startApp({ worker: false })
  tenant = await app.tenant()
  connection = await tenant.connect()
})
afterAll(() => app.stop())

async function aPost(status: PostStatus, delivery: DeliveryStatus = DELIVERY_IN[status]) {
  const { id, deliveries } = await tenant.post('state', [connection], { draft: true })
  await app.sql`update posts set status = ${status} where id = ${id}`
  await app.sql`
    update deliveries set status = ${delivery}, started_at = ${delivery === 'pending' ? null : app.sql`now()`},
                          error_code = ${delivery === 'failed' ? 'platform_error' : null}
     where post_id = ${id}`
  return { id, deliveryId: deliveries[0]!.id }
}

const ACTIONS = ['publish', 'schedule', 'retry', 'delete'] as const

function ask(id: string, action: (typeof ACTIONS)[number]) {
  if (action === 'delete') return tenant.call('DELETE', `/v1/posts/${id}`)
  const body = action === 'schedule' ? { scheduled_at: new Date(Date.now() + 3_600_000).toISOString() } : undefined
  return tenant.call('POST', `/v1/posts/${id}/${action}`, body)
}

const table = PostStatus.options.flatMap((status) => ACTIONS.map((action) => [status, action] as const))

test.each(table)('a post that is %s and %s', async (status, action) => {
  const { id } = await aPost(status)
  const before = await tenant.read(id)
  const { status: http, body } = await ask(id, action)
  if (allowedIn(status).includes(action)) return expect(http).toBe(200)
  expect([http, body.error.code, body.error.details]).toMatchObject([
    422,
    'validation_failed',
    { reason: 'invalid_state', status, allowed_actions: allowedIn(status) },
  ])
  expect(await tenant.read(id)).toEqual(before)
})

test.each(DeliveryStatuses.options)('retrying a delivery that is %s', async (status) => {
  const { deliveryId } = await aPost('partial', status)
  const { status: http, body } = await tenant.call('POST', `/v1/deliveries/${deliveryId}/retry`)
  if (status === 'failed') return expect(http).toBe(200)
  expect([http, body.error.details]).toMatchObject([422, { reason: 'invalid_state', status, allowed_actions: [] }])
})

test.each(DeliveryStatuses.options)('DELETE of a post whose delivery is %s', async (status) => {
  const { id, deliveryId } = await aPost('partial', status)
  const { body } = await tenant.call<{ cancelled: string[]; kept: { delivery_id: string }[] }>(
    'DELETE',
    `/v1/posts/${id}`,
  )
  expect(body.data.cancelled).toEqual(status === 'pending' ? [deliveryId] : [])
  expect(body.data.kept.map(({ delivery_id }) => delivery_id)).toEqual(
    status === 'pending' || status === 'cancelled' ? [] : [deliveryId],
  )
})

test.each(DeliveryStatuses.options)('retrying a post whose delivery is %s', async (status) => {
  const { id, deliveryId } = await aPost('partial', status)
  const { body } = await tenant.call<{ requeued: string[]; skipped: { delivery_id: string }[] }>(
    'POST',
    `/v1/posts/${id}/retry`,
  )
  expect(body.data.requeued).toEqual(status === 'failed' ? [deliveryId] : [])
  expect(body.data.skipped.map(({ delivery_id }) => delivery_id)).toEqual(status === 'rejected' ? [deliveryId] : [])
})
