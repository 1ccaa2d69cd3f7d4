import { startApp, type App, type Tenant } from '../../support/app.js'
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

describe('a post', () => {
  test('is accepted with 202 and one delivery per connection, and reaches each of them once', async () => {
    const other = await tenant.connect('other')
    const accepted = await tenant.call<{ id: string; status: string }>('POST', '/v1/posts', {
      content: { text: 'to both' },
      connection_ids: [connection, other, connection],
    })
    expect(accepted.status).toBe(202)
    expect(accepted.body.data.status).toBe('queued')

    const post = await tenant.settled(accepted.body.data.id)
    expect(post.status).toBe('published')
    expect(post.deliveries.map(({ status, attempts }) => [status, attempts])).toEqual([
      ['succeeded', 1],
      ['succeeded', 1],
    ])
    expect(await app.timesAccepted('to both')).toBe(2)
  })

  test('shows where it can be seen, and the page there shows it', async () => {
    const post = await tenant.settled((await tenant.post('see <b>me</b>', [connection])).id)
    const page = await fetch(post.deliveries[0]!.remote_url!)
    expect(page.headers.get('x-robots-tag')).toBe('noindex')
    expect(await page.text()).toContain('see &lt;b&gt;me&lt;/b&gt;')
  })

  test('goes out at its time and not before', async () => {
    const due = new Date(Date.now() + 2_000)
    const { id, status } = await tenant.post('later', [connection], { scheduled_at: due.toISOString() })
    expect(status).toBe('scheduled')
    const post = await tenant.settled(id)
    const [row] = await app.sql<[{ early: boolean }]>`
      select received_at < ${due} as early from sandbox_requests where text = 'later'`
    expect(post.status).toBe('published')
    expect(row.early).toBe(false)
  })

  test('that is cancelled while it waits never goes out, and its run ends', async () => {
    const { id, deliveries } = await tenant.post('never', [connection], {
      scheduled_at: new Date(Date.now() + 1_500).toISOString(),
    })
    const { status, body } = await tenant.call<{ status: string; cancelled: string[]; kept: unknown[] }>(
      'DELETE',
      `/v1/posts/${id}`,
    )
    expect([status, body.data.status, body.data.cancelled, body.data.kept]).toEqual([
      200,
      'cancelled',
      [deliveries[0]!.id],
      [],
    ])
    await until(
      'its time has passed',
      async () => (await app.sql`select 1 where ${deliveries[0]!.due_at} < now() - interval '500 ms'`)[0],
    )
    expect(await app.timesAccepted('never')).toBe(0)
  })

  test('that is published is kept by DELETE', async () => {
    const post = await tenant.settled((await tenant.post('stays', [connection])).id)
    const { body } = await tenant.call<{ status: string; cancelled: string[]; kept: unknown[] }>(
      'DELETE',
      `/v1/posts/${post.id}`,
    )
    expect(body.data).toMatchObject({ status: 'published', cancelled: [], kept: [{ status: 'succeeded' }] })
  })

  test('that reaches one of two destinations is partial', async () => {
    const gone = await tenant.connect('gone')
    await app.sql`update connections set status = 'reauth_required' where id = ${gone}`
    const post = await tenant.settled((await tenant.post('half', [connection, gone])).id)
    expect(post.status).toBe('partial')
    const failed = post.deliveries.find(({ connection_id }) => connection_id === gone)
    expect(failed).toMatchObject({ status: 'failed', error_code: 'connection_unavailable' })
    expect(failed?.error?.next_step).toMatch(/Reconnect/)
  })

  test('keeps every key of its shape in the answer', async () => {
    const post = await tenant.post('shape', [connection])
    expect(Object.keys(post).sort()).toEqual(
      'approval content created_at created_by deliveries external_id id local_time overrides schedule_notice scheduled_at settled_at source status timezone updated_at validation warnings'.split(
        ' ',
      ),
    )
    expect(Object.keys(post.deliveries[0]!).sort()).toEqual(
      'attempts connection_id created_at due_at error error_code handle id next_attempt_at overrides platform post_id remote_id remote_url settled_at started_at status waiting_for warnings'.split(
        ' ',
      ),
    )
  })
})

describe('bad input is refused with one clear error and writes nothing', () => {
  const rows = async () =>
    (
      await app.sql<
        { count: number }[]
      >`select count(*)::int from posts where organisation_id = ${tenant.organisationId}`
    )[0]!.count
  const valid = () => ({ content: { text: 'x' }, connection_ids: [connection] })

  test.each([
    ['an unknown field', () => ({ ...valid(), when: 'now' }), 'when'],
    ['an unknown field inside content', () => ({ ...valid(), content: { text: 'x', body: 'y' } }), 'content.body'],
    ['a wrong type', () => ({ ...valid(), content: { text: 5 } }), 'content.text'],
    ['an empty text', () => ({ ...valid(), content: { text: '' } }), 'content.text'],
    ['no content', () => ({ connection_ids: [connection] }), 'content'],
    ['no target', () => ({ ...valid(), connection_ids: [] }), 'targets'],
    ['an empty content', () => ({ ...valid(), content: {} }), 'content'],
    ['an id of another kind', () => ({ ...valid(), connection_ids: ['post_1'] }), 'connection_ids.0'],
    ['a NUL character', () => ({ ...valid(), content: { text: 'a\0b' } }), 'content.text'],
    ['half a surrogate pair', () => ({ ...valid(), content: { text: 'a\ud800' } }), 'content.text'],
    ['a time that is none', () => ({ ...valid(), scheduled_at: 'tomorrow at nine' }), 'scheduled_at'],
    ['a day that does not exist', () => ({ ...valid(), scheduled_at: '2027-02-30T09:00:00Z' }), 'scheduled_at'],
    ['an absurd year', () => ({ ...valid(), scheduled_at: '+275760-09-13T00:00:00Z' }), 'scheduled_at'],
    ['an unknown zone', () => ({ ...valid(), timezone: 'Mars/Olympus' }), 'timezone'],
    ['an offset for a zone', () => ({ ...valid(), timezone: '+02:00' }), 'timezone'],
    ['a poll, which nothing handles yet', () => ({ ...valid(), content: { text: 'x', poll: {} } }), 'content.poll'],
    ['media that name nothing', () => ({ ...valid(), content: { text: 'x', media: [{}] } }), 'content.media.0'],
    ['a link that is none', () => ({ ...valid(), content: { link: 'javascript:alert(1)' } }), 'content.link'],
    ['a tag of # alone', () => ({ ...valid(), content: { text: 'x', tags: ['##'] } }), 'content.tags.0'],
    ['an empty part', () => ({ ...valid(), content: { text: 'x', parts: [{}] } }), 'content.parts.0'],
    [
      'parts inside a part',
      () => ({ ...valid(), content: { text: 'x', parts: [{ text: 'y', parts: [] }] } }),
      'content.parts.0.parts',
    ],
    [
      'an override of something else',
      () => ({ ...valid(), overrides: { sandbox: { body: 'x' } } }),
      'overrides.sandbox.body',
    ],
    ['an override for no destination', () => ({ ...valid(), overrides: { nowhere: {} } }), 'overrides.nowhere'],
    ['a platform that is no destination', () => ({ ...valid(), platforms: ['nowhere'] }), 'platforms.0'],
    [
      'settings of a platform without any',
      () => ({ ...valid(), overrides: { sandbox: { settings: { x: 1 } } } }),
      'settings',
    ],
    ['a time long past', () => ({ ...valid(), scheduled_at: '2020-01-01T09:00:00Z' }), 'scheduled_at'],
    ['a time years ahead', () => ({ ...valid(), scheduled_at: '2099-01-01T09:00:00Z' }), 'scheduled_at'],
    ['an array instead of an object', () => [valid()], ''],
  ])('%s', async (_what, body, path) => {
    const before = await rows()
    const answer = await tenant.call('POST', '/v1/posts', body())
    expect(answer.status).toBe(422)
    expect(answer.body.error.code).toBe('validation_failed')
    expect(answer.body.error.details['fields']).toMatchObject([{ path, message: expect.any(String) }])
    expect(await rows()).toBe(before)
  })

  test.each([
    ['malformed JSON', '{"content":', 'application/json', 'malformed_json'],
    ['a body that is not JSON', 'text=hello', 'application/x-www-form-urlencoded', 'unsupported_media_type'],
    [
      'a body that is too large',
      JSON.stringify({ content: { text: 'x'.repeat(10_000_000) } }),
      'application/json',
      'too_large',
    ],
  ])('%s', async (_what, body, type, reason) => {
    const answer = await tenant.call('POST', '/v1/posts', body, { 'content-type': type })
    expect([answer.status, answer.body.error.code, answer.body.error.details['reason']]).toEqual([
      422,
      'validation_failed',
      reason,
    ])
  })

  test('a connection of another organisation answers exactly as one that never was', async () => {
    const stranger = await app.tenant()
    const theirs = await stranger.connect()
    const foreign = await tenant.call('POST', '/v1/posts', { ...valid(), connection_ids: [theirs] })
    const unknown = await tenant.call('POST', '/v1/posts', { ...valid(), connection_ids: [`conn_${'0'.repeat(32)}`] })
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'not_found'])
    expect(foreign.body).toEqual(unknown.body)
  })

  test('a post and a delivery of another organisation do not exist', async () => {
    const post = await tenant.post('mine', [connection])
    const stranger = await app.tenant()
    const paths = [
      `/v1/posts/${post.id}`,
      `/v1/deliveries/${post.deliveries[0]!.id}`,
      `/v1/deliveries/${post.deliveries[0]!.id}/attempts`,
    ]
    for (const path of paths) expect((await stranger.call('GET', path)).status).toBe(404)
    expect((await stranger.call('DELETE', paths[0]!)).status).toBe(404)
    expect((await tenant.settled(post.id)).status).toBe('published')
  })

  test.each([
    ['/v1/posts/%zz', 422],
    ['/v1/posts/post_1%', 422],
    ['/v1/posts/nonsense', 404],
    ['/v1/nowhere', 404],
    ['/v1/posts/post_00000000000000000000000000000000?x=1', 422],
  ])('the address %s answers %i in the one error shape', async (path, status) => {
    const answer = await tenant.call('GET', path)
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual({
      error: { code: expect.any(String), message: expect.any(String), details: expect.any(Object) },
    })
  })

  test('a method a path does not have answers 405 with Allow', async () => {
    const answer = await tenant.call('PUT', '/v1/posts', {})
    expect([answer.status, answer.body.error.code, answer.headers.get('allow')]).toEqual([
      405,
      'method_not_allowed',
      'POST, GET, HEAD',
    ])
  })

  test('a connection that is switched off is refused with what to do', async () => {
    const off = await tenant.connect('off')
    await app.sql`update connections set status = 'disabled' where id = ${off}`
    const answer = await tenant.call('POST', '/v1/posts', { ...valid(), connection_ids: [off] })
    expect([answer.status, answer.body.error.code]).toEqual([409, 'connection_unavailable'])
    expect(answer.body.error.details).toMatchObject({
      platform: 'sandbox',
      connection_id: off,
      platform_message: null,
      next_step: expect.stringMatching(/Reconnect/),
    })
  })

  test('an unknown platform, and fields it does not take', async () => {
    const nowhere = await tenant.call('POST', '/v1/connections', { platform: 'nowhere', fields: {} })
    expect([nowhere.status, nowhere.body.error.details['fields']]).toMatchObject([422, [{ path: 'platform' }]])
    const answer = await tenant.call('POST', '/v1/connections', { platform: 'sandbox', fields: { pass: 'x' } })
    expect(answer.body.error.details['fields']).toEqual([{ path: 'fields.pass', message: expect.any(String) }])
  })
})
