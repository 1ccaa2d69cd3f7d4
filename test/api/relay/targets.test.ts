import type { AcceptedPost, PreviewedPost } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'

let app: App
let tenant: Tenant
let one: string
let two: string

beforeAll(async () => {
  app = await startApp()
  tenant = await app.tenant()
  one = await tenant.connect('one')
  two = await tenant.connect('two')
})
afterAll(() => app.stop())

const send = (body: object, to: Tenant = tenant) => to.call<AcceptedPost>('POST', '/v1/posts', body)

/** What the platform received for each connection of a settled post, by connection. */
async function received(post: AcceptedPost) {
  const { deliveries } = await tenant.settled(post.id)
  const rows = await Promise.all(
    deliveries.map(async ({ connection_id, remote_id }) => {
      const [row] = await app.sql<{ text: string; title: string | null; link: string | null; tags: string[] }[]>`
        select text, title, link, tags from sandbox_requests where post_id = ${remote_id}`
      return [connection_id, row] as const
    }),
  )
  return Object.fromEntries(rows)
}

describe('targets', () => {
  test('are the union of targets, connection_ids and platforms, each connection once', async () => {
    const all = await send({
      content: { text: 'union' },
      targets: [{ connection_id: one }],
      connection_ids: [one, two, two],
      platforms: ['sandbox'],
      draft: true,
    })
    expect(all.body.data.deliveries.map(({ connection_id }) => connection_id)).toEqual([one, two].sort())
    const by = await send({ content: { text: 'by platform' }, platforms: ['sandbox'], draft: true })
    expect(by.body.data.deliveries).toHaveLength(2)
  })

  test('each get the content, what is said otherwise to their platform, and what is said otherwise to them, the last word winning', async () => {
    const { body } = await send({
      content: { text: 'for all', title: 'Title', link: 'https://example.com/a', tags: ['#one', 'two'] },
      targets: [{ connection_id: one, overrides: { text: 'for one', link: null } }],
      connection_ids: [two],
      overrides: { sandbox: { text: 'for the platform', title: null } },
    })
    expect(await received(body.data)).toEqual({
      [one]: { text: 'for one', title: null, link: null, tags: ['one', 'two'] },
      [two]: { text: 'for the platform', title: null, link: 'https://example.com/a', tags: ['one', 'two'] },
    })
    expect(body.data.overrides).toEqual({ sandbox: { text: 'for the platform', title: null } })
    expect(body.data.deliveries.map(({ connection_id, overrides }) => [connection_id, overrides])).toEqual(
      expect.arrayContaining([
        [one, { text: 'for one', link: null }],
        [two, null],
      ]),
    )
  })

  test('the same connection twice inside targets is refused', async () => {
    const { status, body } = await send({
      content: { text: 'x' },
      targets: [{ connection_id: one }, { connection_id: one }],
    })
    expect([status, body.error.details['fields']]).toMatchObject([422, [{ path: 'targets.1.connection_id' }]])
  })

  test('a platform without an active connection: a warning, in strict mode a refusal', async () => {
    const aim = { content: { text: 'x' }, connection_ids: [one], platforms: ['bluesky'], allow_duplicate: true }
    const lenient = await send(aim)
    expect(lenient.body.data.warnings).toMatchObject([
      { code: 'no_active_connection', platform: 'bluesky', connection_id: null },
    ])
    const strict = await send({ ...aim, validation: 'strict' })
    expect([strict.status, strict.body.error.details['fields']]).toMatchObject([422, [{ path: 'platforms.0' }]])
    const none = await send({ ...aim, connection_ids: [] })
    expect([none.status, none.body.error.details['reason']]).toEqual([422, 'no_target'])
  })

  test('a connection that asks to be reconnected: a warning and a failure when due, in strict mode 409', async () => {
    const lapsed = await tenant.connect('lapsed')
    await app.sql`update connections set status = 'reauth_required' where id = ${lapsed}`
    const aim = { content: { text: 'to the lapsed' }, connection_ids: [lapsed] }
    const strict = await send({ ...aim, validation: 'strict' })
    expect([strict.status, strict.body.error.code]).toEqual([409, 'connection_unavailable'])
    const { body } = await send(aim)
    expect(body.data.warnings).toMatchObject([{ code: 'connection_needs_attention', connection_id: lapsed }])
    const settled = await tenant.settled(body.data.id)
    expect(settled.deliveries[0]).toMatchObject({ status: 'failed', error_code: 'connection_unavailable' })
    expect(
      (await send({ content: { text: 'x' }, platforms: ['sandbox'], draft: true })).body.data.deliveries,
    ).toHaveLength(2)
  })

  test('of another organisation do not exist, wherever they are named', async () => {
    const theirs = await (await app.tenant()).connect()
    for (const aim of [{ connection_ids: [theirs] }, { targets: [{ connection_id: theirs }] }])
      expect((await send({ content: { text: 'x' }, ...aim })).status).toBe(404)
  })

  test('a draft may have none, and may say nothing yet', async () => {
    const { status, body } = await send({ content: {}, draft: true })
    expect([status, body.data.status, body.data.deliveries]).toEqual([202, 'draft', []])
    const published = await tenant.call('POST', `/v1/posts/${body.data.id}/publish`)
    expect([published.status, published.body.error.details['reason']]).toEqual([422, 'no_target'])
    const deleted = await tenant.call<AcceptedPost>('DELETE', `/v1/posts/${body.data.id}`)
    expect(deleted.body.data.status).toBe('cancelled')
  })
})

describe('a target that cannot take the content however adapted', () => {
  const aimed = (more: object = {}) => ({
    content: { text: 'taken' },
    targets: [{ connection_id: one, overrides: { text: null } }, { connection_id: two }],
    allow_duplicate: true,
    ...more,
  })

  test('is rejected at once while the others go out', async () => {
    const { status, body } = await send(aimed())
    expect(status).toBe(202)
    const refused = body.data.deliveries.find(({ connection_id }) => connection_id === one)
    expect(refused).toMatchObject({ status: 'rejected', error_code: 'unsupported_capability', attempts: 0 })
    expect(refused?.error?.next_step).toMatch(/\w/)
    expect((await tenant.settled(body.data.id)).status).toBe('partial')
  })

  test('refuses the whole post in strict mode, and when no other is left; a draft is kept', async () => {
    const strict = await send(aimed({ validation: 'strict' }))
    expect([strict.status, strict.body.error.details['fields']]).toMatchObject([
      422,
      [{ path: 'content', connection_id: one, platform: 'sandbox' }],
    ])
    const alone = aimed({ targets: [{ connection_id: one, overrides: { text: null } }] })
    expect((await send(alone)).status).toBe(422)
    const draft = await send({ ...alone, draft: true })
    expect([draft.status, draft.body.data.deliveries[0]!.status]).toEqual([202, 'rejected'])
  })

  test('stays refused when a draft is published, and is told of only then', async () => {
    const draft = (await send(aimed({ draft: true }))).body.data
    const told = () =>
      app.sql<{ type: string }[]>`
        select type from events where type like 'delivery%' and data ->> 'post_id' = ${draft.id} order by id`
    expect(await told()).toEqual([])
    const { body } = await tenant.call<{ skipped: { reason: string }[]; queued: string[] }>(
      'POST',
      `/v1/posts/${draft.id}/publish`,
    )
    expect([body.data.queued.length, body.data.skipped.map(({ reason }) => reason)]).toEqual([1, ['is rejected']])
    expect((await told())[0]).toEqual({ type: 'delivery.failed' })
    expect((await tenant.settled(draft.id)).status).toBe('partial')
    expect(await told()).toEqual([{ type: 'delivery.failed' }, { type: 'delivery.succeeded' }])
  })

  test('is not told of when the scheduled post is cancelled before it is due', async () => {
    const due = new Date(Date.now() + 3_600_000).toISOString()
    const { data } = (await send(aimed({ scheduled_at: due }))).body
    const { body } = await tenant.call<AcceptedPost>('DELETE', `/v1/posts/${data.id}`)
    expect(body.data.status).toBe('cancelled')
    expect(await app.sql`select type from events where data ->> 'post_id' = ${data.id}`).toMatchObject([
      { type: 'post.created' },
    ])
  })
})

describe('when a connection is deleted', () => {
  const doomed = async (more: object) => {
    const gone = await tenant.connect('doomed')
    const { body } = await send({
      content: { text: 'taken' },
      targets: [{ connection_id: one, overrides: { text: null } }, { connection_id: gone }],
      allow_duplicate: true,
      ...more,
    })
    await tenant.call('DELETE', `/v1/connections/${gone}`)
    const told = await app.sql<{ type: string }[]>`select type from events where data ->> 'post_id' = ${body.data.id}`
    return [(await tenant.read(body.data.id)).status, told.map(({ type }) => type)]
  }

  test('a draft stays a draft, a scheduled post of which nothing is left is cancelled; of neither anything is told', async () => {
    expect(await doomed({ draft: true })).toEqual(['draft', ['post.created']])
    const due = new Date(Date.now() + 3_600_000).toISOString()
    expect(await doomed({ scheduled_at: due })).toEqual(['cancelled', ['post.created']])
  })
})

describe('the duplicate guard', () => {
  const twice = async (text: string, second: object, first: object = {}) => {
    await send({ content: { text }, connection_ids: [one], ...first })
    return send({ content: { text }, connection_ids: [one, two], ...second })
  }

  test('warns of what a connection got word for word within 24 hours, in strict mode 409 that names the post', async () => {
    const warned = await twice('again', {})
    expect([warned.status, warned.body.data.warnings]).toMatchObject([
      202,
      [{ code: 'recent_duplicate', connection_id: one, platform: 'sandbox' }],
    ])
    const strict = await twice('again', { validation: 'strict' })
    expect([strict.status, strict.body.error.code, strict.body.error.details]).toMatchObject([
      409,
      'duplicate_content',
      { reason: 'recent_identical_post', existing_post_id: expect.stringMatching(/^post_/) },
    ])
  })

  test('is silenced by allow_duplicate, does not know drafts, other texts, other connections and older posts', async () => {
    expect((await twice('allowed', { validation: 'strict', allow_duplicate: true })).status).toBe(202)
    expect((await twice('drafted', { validation: 'strict' }, { draft: true })).status).toBe(202)
    expect((await twice('drafting', { validation: 'strict', draft: true })).status).toBe(202)
    expect((await twice('one way', { validation: 'strict', connection_ids: [two] })).status).toBe(202)
    const old = await send({ content: { text: 'yesterday' }, connection_ids: [one] })
    await app.sql`update deliveries set created_at = now() - interval '24 hours 1 second' where post_id = ${old.body.data.id}`
    expect((await twice('not yesterday', {}, { content: { text: 'yesterday' } })).body.data.warnings).toEqual([])
  })

  test('lets one of two identical strict posts through that come at the same moment', async () => {
    const body = { content: { text: 'double click' }, connection_ids: [one], validation: 'strict' }
    const answers = await Promise.all([send(body), send(body), send(body)])
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409])
  })

  test('shows in the preview what would be warned of, and what strict would refuse', async () => {
    const body = { content: { text: 'shown before' }, connection_ids: [one] }
    await send(body)
    const lenient = await tenant.call<PreviewedPost>('POST', '/v1/posts/preview', body)
    expect(lenient.body.data.targets[0]!.warnings).toMatchObject([{ code: 'recent_duplicate' }])
    const strict = await tenant.call<PreviewedPost>('POST', '/v1/posts/preview', { ...body, validation: 'strict' })
    expect([strict.body.data.ok, strict.body.data.targets[0]!.errors]).toMatchObject([
      false,
      [{ code: 'duplicate_content' }],
    ])
  })

  test('lets what failed or was refused be sent anew', async () => {
    const failed = await send({ content: { text: '[sandbox:content_rejected]' }, connection_ids: [one] })
    await tenant.settled(failed.body.data.id)
    const again = await send({
      content: { text: '[sandbox:content_rejected]' },
      connection_ids: [one],
      validation: 'strict',
    })
    expect(again.status).toBe(202)
  })
})
