import type { AcceptedPost } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'

let app: App
let tenant: Tenant
let good: string
let other: string

beforeAll(async () => {
  app = await startApp()
  tenant = await app.tenant()
  good = await tenant.connect('good')
  other = await tenant.connect('other')
})
afterAll(() => app.stop())

interface Event {
  type: string
  data: Record<string, unknown>
}

/** What is told of a post, oldest first. */
const toldOf = (postId: string) =>
  app.sql<Event[]>`select type, data from events where data ->> 'post_id' = ${postId} order by id`

async function settled(text: string, connections: string[], more: object = {}) {
  return tenant.settled((await tenant.post(text, connections, { allow_duplicate: true, ...more })).id)
}

test('a post tells of its acceptance, of each delivery and of its end, in the shapes that are documented', async () => {
  const post = await settled('fine', [good, other], { external_id: 'cms-7' })
  const [created, first, second, end, ...rest] = await toldOf(post.id)
  expect(rest).toEqual([])
  expect(created).toEqual({
    type: 'post.created',
    data: {
      post_id: post.id,
      status: 'queued',
      external_id: 'cms-7',
      succeeded: 0,
      failed: 0,
      deliveries: post.deliveries.map(({ id, connection_id }) => ({
        platform: 'sandbox',
        status: 'pending',
        delivery_id: id,
        connection_id,
      })),
    },
  })
  expect([first!.type, second!.type]).toEqual(['delivery.succeeded', 'delivery.succeeded'])
  const delivery = post.deliveries.find(({ id }) => id === first!.data['delivery_id'])!
  expect(first!.data).toEqual({
    delivery_id: delivery.id,
    post_id: post.id,
    external_id: 'cms-7',
    connection_id: delivery.connection_id,
    platform: 'sandbox',
    status: 'succeeded',
    remote_url: delivery.remote_url,
  })
  expect(end).toMatchObject({ type: 'post.published', data: { status: 'published', succeeded: 2, failed: 0 } })
  expect((end!.data['deliveries'] as object[])[0]).toEqual({
    platform: 'sandbox',
    status: 'succeeded',
    remote_url: post.deliveries[0]!.remote_url,
    delivery_id: post.deliveries[0]!.id,
    connection_id: post.deliveries[0]!.connection_id,
  })
})

test('what failed carries its code and a message, and no address', async () => {
  const post = await settled('[sandbox:content_rejected]', [good])
  const [, failed, end] = await toldOf(post.id)
  expect(failed).toEqual({
    type: 'delivery.failed',
    data: {
      delivery_id: post.deliveries[0]!.id,
      post_id: post.id,
      external_id: null,
      connection_id: good,
      platform: 'sandbox',
      status: 'rejected',
      error_code: 'content_rejected',
      message: expect.stringMatching(/\w/),
    },
  })
  expect(end).toMatchObject({
    type: 'post.failed',
    data: { succeeded: 0, failed: 1, deliveries: [{ error_code: 'content_rejected' }] },
  })
  expect(end!.data['deliveries']).not.toHaveProperty('0.remote_url')
})

test('a retry that settles the post again tells again', async () => {
  const post = await settled('[sandbox:quota_exceeded*1]', [good])
  await tenant.call('POST', `/v1/posts/${post.id}/retry`)
  await tenant.settled(post.id)
  expect((await toldOf(post.id)).map(({ type }) => type)).toEqual([
    'post.created',
    'delivery.failed',
    'post.failed',
    'delivery.succeeded',
    'post.published',
  ])
})

test('some succeeded and some not is partial; only cancelled ones are not told of; a draft is told of at its creation', async () => {
  const lapsed = await tenant.connect('lapsed')
  await app.sql`update connections set status = 'reauth_required' where id = ${lapsed}`
  const partial = await settled('half', [good, lapsed])
  expect((await toldOf(partial.id)).at(-1)).toMatchObject({ type: 'post.partial', data: { succeeded: 1, failed: 1 } })

  const draft = await tenant.post('never', [good], { draft: true })
  await tenant.call('DELETE', `/v1/posts/${draft.id}`)
  expect((await toldOf(draft.id)).map(({ type }) => type)).toEqual(['post.created'])
})

test.each([
  ['auth_expired', 'reauth_required'],
  ['auth_revoked', 'revoked'],
])('a connection that ends with %s is told of once, however many posts meet it', async (code, status) => {
  const ending = await tenant.connect(code)
  await Promise.all([1, 2, 3].map((at) => settled(`[sandbox:${code}] ${at}`, [ending])))
  const told = await app.sql<
    Event[]
  >`select type, data from events where data ->> 'connection_id' = ${ending} and type like 'connection.%'`
  expect(told).toEqual([
    {
      type: `connection.${status}`,
      data: { connection_id: ending, platform: 'sandbox', handle: code, status, error_code: code },
    },
  ])
})

describe('usage', () => {
  const used = async (of: Tenant) => {
    const [row] = await app.sql<[{ posts: number; deliveries: number }]>`
      select coalesce(sum(posts), 0)::int as posts, coalesce(sum(deliveries), 0)::int as deliveries from usage
       where organisation_id = ${of.organisationId} and month = date_trunc('month', now() at time zone 'UTC')`
    return row
  }

  test('counts a post once, with its first success, and every success once, also after retries', async () => {
    const customer = await app.tenant()
    const [a, b] = [await customer.connect('a'), await customer.connect('b')]
    await customer.settled((await customer.post('both', [a, b])).id)
    expect(await used(customer)).toEqual({ posts: 1, deliveries: 2 })
    await customer.settled((await customer.post('[sandbox:content_rejected]', [a])).id)
    expect(await used(customer)).toEqual({ posts: 1, deliveries: 2 })

    const failing = await customer.connect('failing')
    const mixed = await customer.call<AcceptedPost>('POST', '/v1/posts', {
      content: { text: 'mixed' },
      targets: [
        { connection_id: a },
        { connection_id: failing, overrides: { text: 'mixed [sandbox:quota_exceeded*1]' } },
      ],
    })
    await customer.settled(mixed.body.data.id)
    expect(await used(customer)).toEqual({ posts: 2, deliveries: 3 })
    await customer.call('POST', `/v1/posts/${mixed.body.data.id}/retry`)
    await customer.settled(mixed.body.data.id)
    expect(await used(customer)).toEqual({ posts: 2, deliveries: 4 })
  })
})

describe('the plan’s month', () => {
  const inDays = (days: number) => new Date(Date.now() + days * 24 * 3_600_000).toISOString()
  const customerOf = (limits: object) => app.tenant(undefined, { limits })
  const accept = (customer: Tenant, to: string[], more: object = {}) =>
    customer.call<AcceptedPost>('POST', '/v1/posts', {
      content: { text: 'quota' },
      connection_ids: to,
      allow_duplicate: true,
      ...more,
    })

  test('refuses the post beyond it with what is used and when it begins anew, and writes nothing', async () => {
    const customer = await customerOf({ posts_per_month: 2 })
    const to = [await customer.connect()]
    await customer.settled((await accept(customer, to)).body.data.id)
    expect((await accept(customer, to)).status).toBe(202)
    const refused = await accept(customer, to)
    expect([refused.status, refused.body.error.code, refused.body.error.details]).toEqual([
      429,
      'quota_exceeded',
      { limit: 'posts_per_month', max: 2, used: 2, resets_at: expect.stringMatching(/-01T00:00:00.000Z$/) },
    ])
    const [row] = await app.sql<[{ posts: number }]>`
      select count(*)::int as posts from posts where organisation_id = ${customer.organisationId}`
    expect(row.posts).toBe(2)
  })

  test('counts deliveries too, and what is scheduled in the month that it is due in', async () => {
    const customer = await customerOf({ deliveries_per_month: 3 })
    const to = [await customer.connect('a'), await customer.connect('b')]
    const far = { scheduled_at: inDays(70) }
    expect((await accept(customer, to, far)).status).toBe(202)
    const refused = await accept(customer, to, far)
    expect([refused.status, refused.body.error.details]).toMatchObject([
      429,
      { limit: 'deliveries_per_month', max: 3, used: 2 },
    ])
    expect((await accept(customer, to)).status).toBe(202)
  })

  test('is asked when a draft is published or scheduled, and gives back what is cancelled', async () => {
    const customer = await customerOf({ posts_per_month: 1 })
    const to = [await customer.connect()]
    const taken = (await accept(customer, to, { scheduled_at: inDays(0.01) })).body.data
    const draft = (await accept(customer, to, { draft: true })).body.data
    const path = `/v1/posts/${draft.id}`
    expect((await customer.call('POST', `${path}/publish`)).status).toBe(429)
    expect((await customer.call('POST', `${path}/schedule`, { scheduled_at: inDays(0.01) })).status).toBe(429)
    expect((await customer.read(draft.id)).status).toBe('draft')
    await customer.call('DELETE', `/v1/posts/${taken.id}`)
    expect((await customer.call('POST', `${path}/publish`)).status).toBe(200)
  })

  test('lets exactly as many through as there is room for, however many come at once', async () => {
    const customer = await customerOf({ posts_per_month: 5 })
    const to = [await customer.connect()]
    const answers = await Promise.all(Array.from({ length: 20 }, () => accept(customer, to)))
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    expect([count(202), count(429)]).toEqual([5, 15])
  })
})
