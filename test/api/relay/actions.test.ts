import type { Delivery } from '../../../src/relay/deliveries/schema.js'
import type { Post } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { until } from '../../support/until.js'

type Action = Post & { queued: string[]; requeued: string[]; skipped: { delivery_id: string; reason: string }[] }

let app: App
let tenant: Tenant
let connection: string

beforeAll(async () => {
  app = await startApp()
  tenant = await app.tenant()
  connection = await tenant.connect()
})
afterAll(() => app.stop())

const act = (id: string, action: string, body?: unknown) =>
  tenant.call<Action>('POST', `/v1/posts/${id}/${action}`, body)
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const draft = (text: string, more: object = {}) => tenant.post(text, [connection], { draft: true, ...more })

describe('publish', () => {
  test('a draft waits without an end, and goes out once it is released', async () => {
    const { id, status, deliveries } = await draft('a draft')
    expect([status, deliveries[0]!.due_at]).toEqual(['draft', null])
    expect(await app.timesAccepted('a draft')).toBe(0)
    const { body } = await act(id, 'publish')
    expect([body.data.status, body.data.queued]).toEqual(['queued', [deliveries[0]!.id]])
    expect((await tenant.settled(id)).status).toBe('published')
    expect(await app.timesAccepted('a draft')).toBe(1)
  })

  test('a scheduled post is woken and goes out once', async () => {
    const { id } = await tenant.post('for tomorrow', [connection], { scheduled_at: inSeconds(24 * 3600) })
    await act(id, 'publish')
    expect((await tenant.settled(id)).status).toBe('published')
    expect(await app.timesAccepted('for tomorrow')).toBe(1)
  })

  test('publishing from several sides at once sends it once', async () => {
    const { id } = await draft('raced')
    const answers = await Promise.all(Array.from({ length: 10 }, () => act(id, 'publish')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await tenant.settled(id)).status).toBe('published')
    expect(await app.timesAccepted('raced')).toBe(1)
  })
})

describe('schedule', () => {
  test('a draft gets a time', async () => {
    const { id } = await draft('soon')
    const due = inSeconds(1.5)
    const { body } = await act(id, 'schedule', { scheduled_at: due })
    expect([body.data.status, body.data.scheduled_at, body.data.deliveries[0]!.due_at]).toEqual(['scheduled', due, due])
    const post = await tenant.settled(id)
    expect(post.deliveries[0]!.settled_at! >= due).toBe(true)
  })

  test('an earlier time wakes it, a later one holds it back', async () => {
    const earlier = await tenant.post('earlier', [connection], { scheduled_at: inSeconds(3600) })
    await act(earlier.id, 'schedule', { scheduled_at: inSeconds(1) })
    expect((await tenant.settled(earlier.id)).status).toBe('published')

    const later = await tenant.post('later than said', [connection], { scheduled_at: inSeconds(1.5) })
    const due = inSeconds(4)
    await act(later.id, 'schedule', { scheduled_at: due })
    const post = await tenant.settled(later.id)
    expect(post.deliveries[0]!.settled_at! >= due).toBe(true)
    expect(await app.timesAccepted('later than said')).toBe(1)
  })

  test('what is being published already is left as it is and listed', async () => {
    const { id, deliveries } = await tenant.post('busy [sandbox:slow=2]', [connection])
    await until('it is under way', async () => (await tenant.read(id)).deliveries[0]!.status === 'processing')
    const { status, body } = await act(id, 'schedule', { scheduled_at: inSeconds(60) })
    expect([status, body.data.skipped]).toMatchObject([
      200,
      [{ delivery_id: deliveries[0]!.id, reason: 'is being published' }],
    ])
    expect((await tenant.settled(id)).status).toBe('published')
  })
})

describe('retry', () => {
  test('only what failed is sent again, under a new generation', async () => {
    const { id, deliveries } = await tenant.settled((await tenant.post('[sandbox:quota_exceeded*1]', [connection])).id)
    expect(deliveries[0]).toMatchObject({ status: 'failed', error_code: 'quota_exceeded' })
    const { body } = await act(id, 'retry')
    expect([body.data.requeued, body.data.skipped]).toEqual([[deliveries[0]!.id], []])
    const post = await tenant.settled(id)
    expect([post.status, post.deliveries[0]!.error_code]).toEqual(['published', null])
    const attempts = await tenant.attempts(deliveries[0]!)
    expect(attempts.map(({ generation, state }) => [generation, state])).toEqual([
      [2, 'accepted'],
      [1, 'refused'],
    ])
  })

  test('what was rejected, what may have landed and what succeeded are not', async () => {
    const other = await tenant.connect('other')
    for (const text of ['[sandbox:content_rejected]', 'x [sandbox:drop-blind]', 'fine']) {
      const { id } = await tenant.settled((await tenant.post(text, [connection, other])).id)
      const { status, body } = await act(id, 'retry')
      expect([status, body.data.requeued]).toEqual([200, []])
      expect(body.data.skipped).toHaveLength(text === 'fine' ? 0 : 2)
    }
    expect(await app.timesAccepted('x [sandbox:drop-blind]')).toBe(2)
  })

  test('an indeterminate delivery is sent again only when somebody says that it is not there', async () => {
    const { deliveries } = await tenant.settled((await tenant.post('look first [sandbox:drop-blind]', [connection])).id)
    const path = `/v1/deliveries/${deliveries[0]!.id}/retry`
    const refused = await tenant.call('POST', path)
    expect([refused.status, refused.body.error.code]).toEqual([409, 'publish_indeterminate'])
    const accepted = await tenant.call<Delivery>('POST', path, { confirm_not_published: true })
    expect([accepted.status, accepted.body.data.status]).toEqual([200, 'pending'])
  })

  test('a delivery that did not fail: 422 that says how it stands', async () => {
    const { deliveries } = await tenant.settled((await tenant.post('succeeded', [connection])).id)
    const { status, body } = await tenant.call('POST', `/v1/deliveries/${deliveries[0]!.id}/retry`)
    expect([status, body.error.details]).toMatchObject([422, { reason: 'invalid_state', status: 'succeeded' }])
  })
})

test.each(['publish', 'schedule'])('%s of a post that is published: 422 with what is possible', async (action) => {
  const { id } = await tenant.settled((await tenant.post(`done before ${action}`, [connection])).id)
  const { status, body } = await act(id, action, action === 'schedule' ? { scheduled_at: inSeconds(60) } : undefined)
  expect([status, body.error.details]).toMatchObject([
    422,
    { reason: 'invalid_state', status: 'published', allowed_actions: ['retry', 'delete'] },
  ])
})

test('no action reaches a post of another organisation', async () => {
  const { id, deliveries } = await draft('not yours')
  const stranger = await app.tenant()
  for (const action of ['publish', 'schedule', 'retry']) {
    const body = action === 'schedule' ? { scheduled_at: inSeconds(60) } : undefined
    expect((await stranger.call('POST', `/v1/posts/${id}/${action}`, body)).status).toBe(404)
  }
  expect((await stranger.call('POST', `/v1/deliveries/${deliveries[0]!.id}/retry`)).status).toBe(404)
  expect((await tenant.read(id)).status).toBe('draft')
})

describe('lists', () => {
  test('every post appears exactly once over the pages, newest first, whatever is posted meanwhile', async () => {
    const reader = await app.tenant()
    const to = await reader.connect()
    const made: string[] = []
    for (let at = 0; at < 7; at++) made.push((await reader.post(`page ${at}`, [to], { draft: true })).id)
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const answer: { body: { data: Post[]; meta: unknown } } = await reader.call<Post[]>(
        'GET',
        `/v1/posts?limit=3${cursor ? `&cursor=${cursor}` : ''}`,
      )
      seen.push(...answer.body.data.map(({ id }) => id))
      const meta = answer.body.meta as { next_cursor: string | null; has_more: boolean }
      expect(meta.has_more).toBe(meta.next_cursor !== null)
      cursor = meta.next_cursor
      await reader.post('in between', [to], { draft: true })
    } while (cursor)
    expect(seen).toEqual(made.toReversed())
  })

  test('posts by status and external_id, deliveries by post, connection, platform, status and time', async () => {
    const reader = await app.tenant()
    const to = await reader.connect()
    const named = await reader.post('named', [to], { external_id: 'cms-1', draft: true })
    const out = await reader.settled((await reader.post('out', [to])).id)
    const ids = async (path: string) => (await reader.call<{ id: string }[]>('GET', path)).body.data.map(({ id }) => id)
    expect(named.external_id).toBe('cms-1')
    expect(await ids('/v1/posts?external_id=cms-1')).toEqual([named.id])
    expect(await ids('/v1/posts?status=draft,failed')).toEqual([named.id])
    const [delivery] = out.deliveries
    for (const filter of [
      `post_id=${out.id}`,
      'status=succeeded,failed',
      `from=${delivery!.created_at}&to=${inSeconds(60)}`,
      'platform=bluesky,sandbox&limit=1',
    ])
      expect(await ids(`/v1/deliveries?${filter}`)).toEqual([delivery!.id])
    expect(await ids(`/v1/deliveries?connection_id=${to}`)).toHaveLength(2)
    expect(await ids('/v1/deliveries?platform=bluesky')).toEqual([])
  })

  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=5&limit=6', 'limit'],
    ['cursor=dlv_1', 'cursor'],
    ['cursor=conn_00000000000000000000000000000000', 'cursor'],
    ['status=draft,done', 'status.1'],
    ['colour=red', 'colour'],
  ])('?%s is refused by name', async (query, path) => {
    const { status, body } = await tenant.call('GET', `/v1/posts?${query}`)
    expect([status, (body.error.details['fields'] as { path: string }[])[0]?.path]).toEqual([422, path])
  })
})
