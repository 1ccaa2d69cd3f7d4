import { EVENT_TYPES } from '../../src/relay/events/schema.js'
import { startApp, type App, type Tenant } from '../support/app.js'
import { Receiver, type Received } from '../support/receiver.js'
import { until } from '../support/until.js'

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

const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`))
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/)
const received = (type: string, about: Record<string, unknown>) =>
  until(`${type} was received`, () =>
    receiver.received.find(
      ({ event }) => event.type === type && Object.entries(about).every(([name, value]) => event.data[name] === value),
    ),
  )
const holds = ({ event, headers }: Received, data: object) => {
  expect(event).toEqual({ id: id('evt'), type: event.type, created_at: instant, data })
  expect(headers['x-relay-event']).toBe(event.type)
  expect(headers['x-relay-delivery']).toEqual(id('whd'))
}

test('each of the eight events arrives in the shape that the documents give it', async () => {
  await receiver.register(tenant, '/all')
  const [good, lapsing, leaving] = [
    await tenant.connect('good'),
    await tenant.connect('lapsing'),
    await tenant.connect('leaving'),
  ]
  const publish = async (text: string, to: string[]) =>
    tenant.settled((await tenant.post(text, to, { external_id: `cms ${text}` })).id)
  const published = await publish('fine', [good])
  const failed = await publish('[sandbox:content_rejected]', [good])
  await publish('[sandbox:auth_expired]', [lapsing])
  await publish('[sandbox:auth_revoked]', [leaving])
  const partial = await publish('half', [good, lapsing])

  const [delivery] = published.deliveries
  const shared = { post_id: published.id, external_id: 'cms fine' }
  const target = { platform: 'sandbox', delivery_id: delivery!.id, connection_id: good }
  holds(await received('post.created', { post_id: published.id }), {
    ...shared,
    status: 'queued',
    succeeded: 0,
    failed: 0,
    deliveries: [{ ...target, status: 'pending' }],
  })
  const landed = { ...target, status: 'succeeded', remote_url: delivery!.remote_url }
  holds(await received('delivery.succeeded', { post_id: published.id }), { ...shared, ...landed })
  holds(await received('post.published', { post_id: published.id }), {
    ...shared,
    status: 'published',
    succeeded: 1,
    failed: 0,
    deliveries: [landed],
  })
  const refused = {
    platform: 'sandbox',
    delivery_id: failed.deliveries[0]!.id,
    connection_id: good,
    status: 'rejected',
    error_code: 'content_rejected',
  }
  const about = { post_id: failed.id, external_id: failed.external_id }
  holds(await received('delivery.failed', { post_id: failed.id }), {
    ...about,
    ...refused,
    message: expect.stringMatching(/\w/),
  })
  holds(await received('post.failed', about), {
    ...about,
    status: 'failed',
    succeeded: 0,
    failed: 1,
    deliveries: [refused],
  })
  holds(await received('post.partial', { post_id: partial.id }), {
    post_id: partial.id,
    external_id: 'cms half',
    status: 'partial',
    succeeded: 1,
    failed: 1,
    deliveries: [
      expect.objectContaining({ status: 'succeeded' }),
      expect.objectContaining({ error_code: 'connection_unavailable' }),
    ],
  })
  const connections = [
    ['connection.reauth_required', lapsing, 'lapsing', 'reauth_required', 'auth_expired'],
    ['connection.revoked', leaving, 'leaving', 'revoked', 'auth_revoked'],
  ] as const
  for (const [type, connection_id, handle, status, error_code] of connections)
    holds(await received(type, { connection_id }), { connection_id, platform: 'sandbox', handle, status, error_code })
  expect(new Set(receiver.received.map(({ event }) => event.type))).toEqual(new Set(EVENT_TYPES))
})

test('every event of a busy organisation reaches each of its endpoints, under an id of its own', async () => {
  const busy = await app.tenant()
  const connection = await busy.connect()
  await Promise.all(['/busy/a', '/busy/b'].map((path) => receiver.register(busy, path, ['post.created'])))
  const posts = await Promise.all(
    Array.from({ length: 60 }, (_, at) => busy.post(`busy ${at}`, [connection], { draft: true })),
  )
  for (const path of ['/busy/a', '/busy/b']) {
    const told = await receiver.untilReceived(path, 60)
    expect(new Set(told.map(({ event }) => event.data['post_id']))).toEqual(new Set(posts.map((post) => post.id)))
  }
  const ids = receiver.received
    .filter(({ path }) => path.startsWith('/busy/'))
    .map(({ headers }) => headers['x-relay-delivery'])
  expect(new Set(ids).size).toBe(120)
})

test('an event that is written in a transaction that fails is told to nobody', async () => {
  const unlucky = await app.tenant(undefined, { limits: { posts_per_month: 0 } })
  await receiver.register(unlucky, '/unlucky')
  const to = [await unlucky.connect()]
  const refused = await unlucky.call('POST', '/v1/posts', { content: { text: 'over' }, connection_ids: to })
  expect(refused.status).toBe(429)
  expect(await app.sql`select from webhook_deliveries where organisation_id = ${unlucky.organisationId}`).toHaveLength(
    0,
  )
})
