import fc from 'fast-check'
import type { AcceptedPost, PreviewedPost } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { postsAtRandom } from '../../support/posts-at-random.js'
import { until } from '../../support/until.js'

let app: App
let tenant: Tenant
let connection: string

beforeAll(async () => {
  app = await startApp()
  tenant = await app.tenant()
  connection = await tenant.connect()
})
afterAll(() => app.stop())

const preview = (body: object, headers = {}) =>
  tenant.call<PreviewedPost>('POST', '/v1/posts/preview', { connection_ids: [connection], ...body }, headers)

/** How many rows every table holds, the count of this key's requests apart. */
async function countRows(): Promise<Record<string, number>> {
  const tables = await app.sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_name <> 'rate_windows'`
  const counts = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await app.sql<[{ count: number }]>`select count(*)::int as count from ${app.sql(name)}`
      return [name, row.count] as const
    }),
  )
  return Object.fromEntries(counts)
}

test('shows each target what it would get, and writes nothing: no row, no call, not even for an Idempotency-Key', async () => {
  const before = await countRows()
  const { status, body } = await preview(
    { content: { text: 'Hi', title: 'T', tags: ['#a'], parts: [{ text: 'two' }], first_comment: { text: 'three' } } },
    { 'idempotency-key': 'preview-1' },
  )
  expect([status, body.data.ok]).toEqual([200, true])
  expect(body.data.targets).toEqual([
    {
      connection_id: connection,
      platform: 'sandbox',
      handle: 'account',
      ok: true,
      text: 'Hi',
      title: 'T',
      link: null,
      tags: ['a'],
      parts: [{ text: 'two', title: null, link: null, tags: [], media: [] }],
      first_comment: { text: 'three' },
      media: [],
      media_not_taken: [],
      length: { count: 2, max: 100_000, unit: 'characters' },
      warnings: [],
      errors: [],
      unverified_media: [],
    },
  ])
  expect(await countRows()).toEqual(before)
})

test('answers 200 for what would be refused, and says why', async () => {
  const { status, body } = await preview({ content: { tags: ['x'] } })
  expect([status, body.data.ok, body.data.targets[0]!.errors]).toMatchObject([
    200,
    false,
    [{ code: 'unsupported_capability', path: 'content' }],
  ])
  const nowhere = await preview({ content: { text: 'x' }, connection_ids: [], platforms: ['bluesky'] })
  expect(nowhere.body.data).toMatchObject({ ok: false, targets: [], warnings: [{ code: 'no_active_connection' }] })
})

test('needs read alone, and knows no other organisation’s connection', async () => {
  const reader = await app.tenant(['read'])
  const own = await reader.call('POST', '/v1/posts/preview', { content: { text: 'x' }, connection_ids: [] })
  const foreign = await reader.call('POST', '/v1/posts/preview', {
    content: { text: 'x' },
    connection_ids: [connection],
  })
  expect([own.status, foreign.status]).toEqual([200, 404])
  expect((await reader.call('POST', '/v1/posts', { content: { text: 'x' } })).status).toBe(403)
})

test('100 posts at random reach the platform exactly as they were previewed', async () => {
  const contents = fc.sample(postsAtRandom, 100)
  const made = await Promise.all(
    contents.map(async (content) => {
      const { data } = (await preview({ content })).body
      const { body } = await tenant.call<AcceptedPost>('POST', '/v1/posts', { content, connection_ids: [connection] })
      return { shown: data.targets[0]!, post: body.data }
    }),
  )
  await until(
    'all are out',
    async () => {
      const [row] = await app.sql<[{ open: number }]>`select count(*)::int as open from posts where settled_at is null`
      return row.open === 0
    },
    60_000,
  )
  for (const { shown, post } of made) {
    const { deliveries } = await tenant.read(post.id)
    const sent = await app.sql`
      select r.text, r.title, r.link, r.tags, r.media from delivery_parts p join sandbox_requests r on r.post_id = p.remote_id
       where p.delivery_id = ${deliveries[0]!.id} order by p.number`
    const { text, title, link, tags, media, parts, first_comment } = shown
    const comment = first_comment ? [{ ...first_comment, title: null, link: null, tags: [], media: [] }] : []
    expect(sent.map((row) => ({ ...row }))).toEqual([{ text, title, link, tags, media }, ...parts, ...comment])
  }
}, 120_000)
