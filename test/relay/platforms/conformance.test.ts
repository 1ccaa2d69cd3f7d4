import type { ErrorCode } from '../../../src/errors.js'
import type { PreviewedPost } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { anImage, aVideo } from '../../support/files.js'
import { startFaultyProxy, type Answer, type FaultyProxy } from '../../support/faulty-proxy.js'
import { startBluesky } from '../../support/servers/bluesky.js'
import type { FakeServer } from '../../support/servers/fake-server.js'
import { MASTODON_TOKEN, startMastodon } from '../../support/servers/mastodon.js'
import { startWebhookReceiver, WEBHOOK_SECRET } from '../../support/servers/webhook-receiver.js'
import { until } from '../../support/until.js'

/** One adapter: its server, how to connect, and what its documents say of refusals. A new adapter adds a row. */
interface Row {
  platform: string
  start(): Promise<FakeServer>
  fields(url: string): object
  /** Matches the one request that publishes. */
  publish: RegExp
  /** The longest text, one unit of which is this character; null where the server has no limit of its own. */
  longest: { max: number; unit: string } | null
  takesImages: boolean
  /** How it says that a token has lapsed; left out where tokens do not. */
  lapsed?: Answer
  /** Every error body that is documented. */
  refusals: [answer: Answer, code: ErrorCode, connection: 'active' | 'revoked' | 'reauth_required'][]
}

const json = (status: number, body: unknown): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const bare = (status: number): Answer => ({ status, body: '' })

const ROWS: Row[] = [
  {
    platform: 'mastodon',
    start: () => startMastodon({ maxCharacters: 700 }),
    fields: (url) => ({ instance_url: url, access_token: MASTODON_TOKEN }),
    publish: /^\/api\/v1\/statuses$/,
    longest: { max: 700, unit: '👩‍👩‍👧' },
    takesImages: true,
    refusals: [
      [json(401, { error: 'The access token was revoked' }), 'auth_revoked', 'revoked'],
      [json(403, { error: 'Your login is currently disabled' }), 'auth_revoked', 'revoked'],
      [json(403, { error: 'This action is outside the authorized scopes' }), 'auth_revoked', 'revoked'],
      [json(422, { error: "Validation failed: Text can't be blank" }), 'content_rejected', 'active'],
      [
        json(422, { error: 'Cannot attach files that have not finished processing. Try again in a moment!' }),
        'media_rejected',
        'active',
      ],
      [json(404, { error: 'Record not found' }), 'content_rejected', 'active'],
    ],
  },
  {
    platform: 'webhook_post',
    start: startWebhookReceiver,
    fields: (url) => ({ url: `${url}/hook?for=relay`, secret: WEBHOOK_SECRET }),
    publish: /^\/hook/,
    longest: null,
    takesImages: false,
    refusals: [
      ...[401, 403, 404, 410].map((status) => [bare(status), 'auth_revoked', 'revoked'] as Row['refusals'][number]),
      ...[400, 422].map((status) => [bare(status), 'content_rejected', 'active'] as Row['refusals'][number]),
      ...[413, 415].map((status) => [bare(status), 'media_rejected', 'active'] as Row['refusals'][number]),
      [bare(409), 'duplicate_content', 'active'],
    ],
  },
  {
    platform: 'bluesky',
    start: startBluesky,
    fields: (url) => ({ service: url, identifier: 'a.test', app_password: 'x' }),
    publish: /createRecord$/,
    longest: { max: 300, unit: '👍🏽' },
    takesImages: true,
    lapsed: json(400, { error: 'ExpiredToken', message: 'Token has expired' }),
    refusals: [
      [json(400, { error: 'InvalidRequest', message: 'Invalid record' }), 'content_rejected', 'active'],
      [json(400, { error: 'AccountTakedown', message: 'Account has been taken down' }), 'auth_revoked', 'revoked'],
      [json(401, { error: 'AuthMissing', message: 'Authentication Required' }), 'auth_revoked', 'revoked'],
      [json(403, { error: 'Forbidden', message: 'Bad token scope' }), 'auth_revoked', 'revoked'],
    ],
  },
]

interface Rig extends Row {
  server: FakeServer
  /** In front of the server; it can fail. */
  proxy: FaultyProxy
}

let app: App
let tenant: Tenant
const rigs = new Map<string, Rig>()

beforeAll(async () => {
  for (const row of ROWS) {
    const server = await row.start()
    rigs.set(row.platform, { ...row, server, proxy: await startFaultyProxy(server.url) })
  }
  const allow = [...rigs.values()].map(({ proxy }) => new URL(proxy.url).host).join(',')
  app = await startApp({ env: { EGRESS_ALLOW: allow } })
  tenant = await app.tenant()
})
afterAll(async () => {
  await app.stop()
  for (const { server, proxy } of rigs.values()) {
    await proxy.stop()
    server.stop()
  }
})

/** Connected anew, which makes an account active again that a refusal has ended. */
async function rigOf(platform: string): Promise<Rig & { connection: string }> {
  const rig = rigs.get(platform)!
  const fields = rig.fields(rig.proxy.url)
  const { body } = await tenant.call<{ id: string }>('POST', '/v1/connections', { platform, fields })
  if (!body.data) throw new Error(JSON.stringify(body.error))
  return { ...rig, connection: body.data.id }
}

const post = (text: string, connection: string, more: object = {}) =>
  tenant.post(text, [connection], { allow_duplicate: true, ...more })
const landed = ({ server }: Rig, text: string) => server.landed.filter((each) => each.text.startsWith(text))
const thread = (name: string) => ({
  content: { text: `${name} 1`, parts: [{ text: `${name} 2` }, { text: `${name} 3` }] },
})

describe.each(ROWS)('$platform', ({ platform, longest, refusals, publish, takesImages, lapsed }) => {
  if (longest)
    test('takes a text of exactly its limit by its own count; one more is refused, or cut and taken', async () => {
      const rig = await rigOf(platform)
      const { max, unit } = longest
      const exact = unit.repeat(max)
      expect((await tenant.settled((await post(exact, rig.connection, { validation: 'strict' })).id)).status).toBe(
        'published',
      )
      const strict = await tenant.call('POST', '/v1/posts', {
        content: { text: `${exact}${unit}` },
        connection_ids: [rig.connection],
        validation: 'strict',
      })
      expect([strict.status, strict.body.error.details['fields']]).toMatchObject([
        422,
        [{ limit: max, received: max + 1 }],
      ])
      const cut = await post(`${exact}${unit}`, rig.connection)
      expect(cut.warnings).toMatchObject([{ code: 'text_truncated', limit: max, received: max + 1 }])
      expect((await tenant.settled(cut.id)).status).toBe('published')
      expect(rig.server.landed.at(-1)!.text).toBe(`${unit.repeat(max - 1)}…`)
    })

  test('gets what the preview showed', async () => {
    const rig = await rigOf(platform)
    const content = {
      text: 'previewed',
      link: 'https://example.com/x',
      tags: ['tag'],
      parts: [{ text: 'previewed too' }],
    }
    const { body } = await tenant.call<PreviewedPost>('POST', '/v1/posts/preview', {
      content,
      connection_ids: [rig.connection],
    })
    const [shown] = body.data.targets
    await tenant.settled((await post('', rig.connection, { content })).id)
    expect(landed(rig, 'previewed').map(({ text }) => text)).toEqual([
      shown!.text,
      ...shown!.parts.map(({ text }) => text),
    ])
  })

  test.each(refusals)('%j is %s, and leaves the connection %s', async (answer, code, status) => {
    const rig = await rigOf(platform)
    rig.proxy.faults.push({ path: publish, forward: false, reply: answer })
    const { deliveries } = await tenant.settled((await post(`refused ${code}`, rig.connection)).id)
    expect(deliveries[0]).toMatchObject({ error_code: code, attempts: 1 })
    const { body } = await tenant.call<{ status: string }>('GET', `/v1/connections/${rig.connection}`)
    expect(body.data.status).toBe(status)
  })

  test.each<[string, boolean, Answer | 'cut' | 'hold']>([
    ['a line that is cut before the server has it', false, 'cut'],
    ['a line that is cut after the server took it', true, 'cut'],
    ['silence after the server took it', true, 'hold'],
    ['a 500 after the server took it', true, json(500, { error: 'InternalServerError', message: 'x' })],
    ['a gateway’s page after the server took it', true, { status: 502, body: '<html></html>' }],
    ['a 503 before the server has it', false, { status: 503, body: '<html></html>' }],
    ['a 429', false, { ...json(429, { error: 'Too many requests' }), headers: { 'retry-after': '1' } }],
  ])('%s: the post lands once', async (what, forward, reply) => {
    const rig = await rigOf(platform)
    rig.proxy.faults.push({ path: publish, forward, reply })
    const { id } = await post(`once: ${what}`, rig.connection)
    expect((await tenant.settled(id, 30_000)).status).toBe('published')
    expect(landed(rig, `once: ${what}`)).toHaveLength(1)
  })

  test('an image goes with its description where images are taken, and is dropped with a warning where not', async () => {
    const rig = await rigOf(platform)
    const image = (await tenant.upload(await anImage())).body.data
    const content = { text: `pictured on ${platform}`, media: [{ id: image.id, alt: 'A red square' }] }
    const made = await post('', rig.connection, { content })
    expect((await tenant.settled(made.id)).status).toBe('published')
    const warned = made.warnings.map(({ code }) => code)
    if (takesImages) expect([warned, rig.server.landed.at(-1)!.media]).toEqual([[], ['A red square']])
    else expect(warned).toEqual(['media_dropped'])
  })

  if (takesImages)
    test('takes as many images as it says; one more and a video are dropped with warnings, or refused', async () => {
      const rig = await rigOf(platform)
      const { body } = await tenant.call<{ limits: { media: { max: number } } }>('GET', `/v1/platforms/${platform}`)
      const { max } = body.data.limits.media
      const images = await Promise.all(Array.from({ length: max + 1 }, async () => tenant.upload(await anImage())))
      const refs = images.map((image, at) => ({ id: image.body.data.id, alt: `image ${at}` }))
      const video = { id: (await tenant.upload(aVideo())).body.data.id }

      const content = { text: `an album on ${platform}`, media: [...refs, video] }
      const made = await post('', rig.connection, { content })
      expect(made.warnings.map(({ code, path }) => [code, path])).toEqual([
        ['media_dropped', `content.media.${max}`],
        ['media_dropped', `content.media.${max + 1}`],
      ])
      expect((await tenant.settled(made.id)).status).toBe('published')
      expect(rig.server.landed.at(-1)!.media).toEqual(refs.slice(0, max).map(({ alt }) => alt))
      const strict = { content, connection_ids: [rig.connection], validation: 'strict', allow_duplicate: true }
      expect((await tenant.call('POST', '/v1/posts', strict)).status).toBe(422)
    })

  if (lapsed)
    test('a token that has lapsed is renewed, and the post goes out once', async () => {
      const rig = await rigOf(platform)
      rig.proxy.faults.push({ path: publish, forward: false, reply: lapsed })
      const { id } = await post('renewed', rig.connection)
      expect((await tenant.settled(id)).deliveries[0]).toMatchObject({ status: 'succeeded', attempts: 2 })
      expect(landed(rig, 'renewed')).toHaveLength(1)
    })

  test('a thread hangs together, and a part whose line is cut is not repeated', async () => {
    const rig = await rigOf(platform)
    rig.proxy.faults.push({ path: publish, forward: true, reply: 'pass' })
    rig.proxy.faults.push({ path: publish, forward: true, reply: 'cut' })
    const { id } = await post('', rig.connection, thread('hangs'))
    expect((await tenant.settled(id, 30_000)).status).toBe('published')
    const parts = landed(rig, 'hangs')
    expect(parts.map(({ text }) => text)).toEqual(['hangs 1', 'hangs 2', 'hangs 3'])
    expect(parts.map(({ replyTo }) => replyTo)).toEqual([null, parts[0]!.id, parts[1]!.id])
  })

  test('a thread that is cancelled while it waits in its middle goes no further', async () => {
    const rig = await rigOf(platform)
    const name = `stopped on ${platform}`
    const slowDown = { ...json(429, { error: 'Too many requests' }), headers: { 'retry-after': '2' } }
    rig.proxy.faults.push({ path: publish, forward: true, reply: 'pass' })
    rig.proxy.faults.push({ path: publish, forward: false, reply: slowDown })
    const { id, deliveries } = await post('', rig.connection, thread(name))
    await until('it waits', async () => (await tenant.read(id)).deliveries[0]!.waiting_for !== null)
    const { body } = await tenant.call<{ cancelled: string[] }>('DELETE', `/v1/posts/${id}`)
    expect(body.data.cancelled).toEqual([deliveries[0]!.id])
    await until(
      'its turn has passed',
      async () =>
        (
          await app.sql`select 1 from deliveries where id = ${deliveries[0]!.id} and settled_at < now() - interval '4 s'`
        )[0],
    )
    expect(landed(rig, name)).toHaveLength(1)
  })
})
