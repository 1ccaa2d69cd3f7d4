import type { PreviewedPost } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { anImage } from '../../support/files.js'
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

const upload = async (alt?: string) =>
  (await tenant.upload(await anImage(), alt === undefined ? {} : { alt })).body.data
const post = (content: object, more: object = {}) =>
  tenant.call<{ id: string }>('POST', '/v1/posts', { content, connection_ids: [connection], ...more })
const preview = async (content: object, more: object = {}) =>
  (await tenant.call<PreviewedPost>('POST', '/v1/posts/preview', { content, connection_ids: [connection], ...more }))
    .body.data
const sentTo = async (postId: string) => {
  const rows = await app.sql<{ media: unknown }[]>`
    select r.media from deliveries d join delivery_parts p on p.delivery_id = d.id join sandbox_requests r on r.post_id = p.remote_id
     where d.post_id = ${postId} order by p.number`
  return rows.map(({ media }) => media)
}
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

test('assets reach the platform with their descriptions, each with the piece it belongs to, as previewed', async () => {
  const [one, two] = [await upload('its own'), await upload()]
  const content = {
    media: [{ id: one.id }, { id: two.id, alt: 'given' }],
    parts: [{ text: 'two', media: [{ id: one.id }] }],
  }
  const shown = (await preview(content)).targets[0]!
  expect(shown).toMatchObject({
    ok: true,
    text: '',
    media: [
      { index: 0, id: one.id, url: null, kind: 'image', alt: 'its own' },
      { index: 1, id: two.id, url: null, kind: 'image', alt: 'given' },
    ],
    parts: [{ text: 'two', media: [{ index: 0, id: one.id }] }],
    media_not_taken: [],
    unverified_media: [],
  })
  const { id } = (await post(content)).body.data
  expect((await tenant.settled(id)).status).toBe('published')
  const entry = { id: one.id, sha256: one.sha256, kind: 'image', alt: 'its own' }
  expect(await sentTo(id)).toEqual([[entry, { id: two.id, sha256: two.sha256, kind: 'image', alt: 'given' }], [entry]])
})

test('the timeline of the sandbox shows them', async () => {
  const { id } = (await post({ text: 'shown', media: [{ id: (await upload('a <b>dog</b>')).id }] })).body.data
  const { remote_url } = (await tenant.settled(id)).deliveries[0]!
  const page = await (await fetch(remote_url!)).text()
  expect(page).toContain('<b>image</b> a &lt;b&gt;dog&lt;/b&gt;')
})

test('an override replaces the media, null takes them away', async () => {
  const [one, two] = [await upload(), await upload()]
  const content = { text: 'overridden', media: [{ id: one.id }] }
  const targets = [{ connection_id: connection, overrides: { media: [{ id: two.id }] } }]
  expect((await preview(content, { targets })).targets[0]!.media).toMatchObject([{ id: two.id }])
  expect((await preview(content, { overrides: { sandbox: { media: null } } })).targets[0]!.media).toEqual([])
})

test('an asset that is unknown or another organisation’s is 404, wherever it is named', async () => {
  const stranger = await app.tenant()
  const foreign = (await stranger.upload(await anImage())).body.data.id
  for (const id of [foreign, `med_${'0'.repeat(32)}`]) {
    const media = [{ id }]
    for (const body of [
      { content: { text: 'x', media } },
      { content: { text: 'x', parts: [{ text: 'y', media }] } },
      { content: { text: 'x' }, overrides: { sandbox: { media } } },
      { content: { text: 'x' }, targets: [{ connection_id: connection, overrides: { media } }] },
    ]) {
      const whole = { connection_ids: [connection], ...body }
      const answers = [
        await tenant.call('POST', '/v1/posts', whole),
        await tenant.call('POST', '/v1/posts/preview', whole),
      ]
      expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual([
        [404, 'not_found'],
        [404, 'not_found'],
      ])
    }
  }
})

test.each([
  ['neither', {}],
  ['both', { id: `med_${'0'.repeat(32)}`, url: 'https://x.test/a.png' }],
  ['no address', { url: 'ftp://x.test/a.png' }],
  ['no id', { id: 'post_1' }],
])('a reference with %s is refused', async (_what, ref) => {
  const { status, body } = await post({ text: 'x', media: [ref] })
  expect([status, body.error.code]).toEqual([422, 'validation_failed'])
})

test('strict refuses what lenient drops, and says so; what it cannot know yet it takes', async () => {
  const bluesky = await app.sql<{ id: string }[]>`
    insert into connections (id, organisation_id, platform, account_id, handle, created_via)
    values (${`conn_${'b'.repeat(32)}`}, ${tenant.organisationId}, 'bluesky', 'did:x', 'x.test', 'api') returning id`
  const ids = await Promise.all(Array.from({ length: 5 }, () => upload()))
  const body = {
    content: { text: 'five', media: ids.map(({ id }) => ({ id })) },
    connection_ids: [bluesky[0]!.id],
    draft: true,
  }
  const strict = await tenant.call('POST', '/v1/posts', { ...body, validation: 'strict' })
  expect([strict.status, strict.body.error.details['fields']]).toMatchObject([
    422,
    [{ path: 'content.media.4', limit: 4, received: 5, platform: 'bluesky' }],
  ])
  const lenient = await tenant.call<{ warnings: object[] }>('POST', '/v1/posts', body)
  expect(lenient.body.data.warnings).toMatchObject([{ code: 'media_dropped', path: 'content.media.4' }])
  const unknown = { text: 'unknown', media: [{ url: 'https://x.test/a.png' }] }
  const accepted = await tenant.call<{ warnings: object[] }>('POST', '/v1/posts', {
    ...body,
    content: unknown,
    validation: 'strict',
  })
  expect(accepted.body.data.warnings).toMatchObject([{ code: 'media_unverified', path: 'content.media.0' }])
  const shown = await tenant.call<PreviewedPost>('POST', '/v1/posts/preview', {
    content: unknown,
    connection_ids: [bluesky[0]!.id],
    validation: 'strict',
  })
  expect(shown.body.data).toMatchObject({
    ok: true,
    targets: [{ unverified_media: [{ index: 0, url: 'https://x.test/a.png', assumed_content_type: 'image/png' }] }],
  })
})

test('an asset that a post is to go out with cannot be deleted, until it is cancelled or out', async () => {
  const { id } = await upload()
  const scheduled = (await post({ text: 'later', media: [{ id }] }, { scheduled_at: inAnHour() })).body.data.id
  const draft = (await post({ text: 'draft', media: [{ id }] }, { draft: true })).body.data.id
  const refused = await tenant.call('DELETE', `/v1/media/id/${id}`)
  expect([refused.status, refused.body.error.details]).toMatchObject([
    422,
    { reason: 'invalid_state', post_ids: [scheduled] },
  ])
  await tenant.call('DELETE', `/v1/posts/${scheduled}`)
  expect((await tenant.call('DELETE', `/v1/media/id/${id}`)).status).toBe(200)
  // The draft has lost it: it says so instead of going out without.
  await tenant.call('POST', `/v1/posts/${draft}/publish`)
  const { deliveries } = await tenant.settled(draft)
  expect(deliveries[0]).toMatchObject({
    status: 'rejected',
    error_code: 'media_rejected',
    error: { message: expect.stringContaining('was deleted') },
  })
  expect(await app.timesAccepted('draft')).toBe(0)
})

test('a post and a deletion at the same moment: either it has the asset, or there is none', async () => {
  for (let at = 0; at < 10; at++) {
    const { id } = await upload()
    const [accepted, deleted] = await Promise.all([
      post({ text: `race ${at}`, media: [{ id }] }, { scheduled_at: inAnHour() }),
      tenant.call('DELETE', `/v1/media/id/${id}`),
    ])
    expect([
      [202, 422],
      [404, 200],
    ]).toContainEqual([accepted.status, deleted.status])
  }
})

test('what a platform takes of media is shown', async () => {
  const { body } = await app.call<{ limits: object; features: string[] }>('GET', '/v1/platforms/bluesky')
  expect(body.data.limits).toMatchObject({ media: { max: 4, kinds: ['image'], max_bytes: 1_000_000 } })
  expect(body.data.features).toContain('alt_text')
  await until('nothing is loose', async () => (await app.sql`select from loose_blobs`).length === 0)
})
