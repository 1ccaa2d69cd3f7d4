import type { Delivery } from '../../src/relay/deliveries/schema.js'
import { startApp, type App, type Tenant } from '../support/app.js'
import { ops } from '../support/ops.js'
import { until } from '../support/until.js'

let app: App
let tenant: Tenant
let connection: string

beforeAll(async () => {
  app = await startApp()
  tenant = await app.tenant()
  connection = await tenant.connect()
})
afterAll(() => app.stop())

const run = (...args: string[]) => ops(args, { DATABASE_URL: app.database.url, SANDBOX_URL: app.url })
const delivery = async (postId: string): Promise<Delivery> => (await tenant.read(postId)).deliveries[0]!
const untilHeld = (postId: string) =>
  until('it is held', async () => (await delivery(postId)).waiting_for?.code === 'publishing_paused')
const paused = async () =>
  (await app.call<{ paused: { reason: string; since: string } | null }>('GET', '/v1/platforms/sandbox')).body.data
    .paused

test('a paused destination holds everything back, says why, and lets it go when it is resumed', async () => {
  expect(await run('pause', 'sandbox', '--reason', 'their outage')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^sandbox is paused since \d{4}.*: their outage$/),
  })
  expect(await paused()).toMatchObject({ reason: 'their outage' })
  const platform = await app.call<{ available: boolean }>('GET', '/v1/platforms/sandbox')
  expect(platform.body.data.available).toBe(true)

  const posts = await Promise.all(['held 1', 'held 2', 'held 3'].map((text) => tenant.post(text, [connection])))
  for (const { id } of posts) await untilHeld(id)
  const held = await delivery(posts[0]!.id)
  expect(held).toMatchObject({
    status: 'pending',
    attempts: 0,
    started_at: null,
    waiting_for: { code: 'publishing_paused', reason: 'their outage', until: null },
  })

  expect(await run('resume', 'sandbox')).toMatchObject({ code: 0, out: 'sandbox is resumed; deliveries woken: 3' })
  for (const { id, content } of posts) {
    const post = await tenant.settled(id)
    expect(post).toMatchObject({ status: 'published', deliveries: [{ attempts: 1, waiting_for: null }] })
    expect(await app.timesAccepted(content.text ?? '')).toBe(1)
  }
  expect(await paused()).toBeNull()
})

test('what is cancelled or moved while it is held behaves as usual', async () => {
  await run('pause', 'sandbox', '--reason', 'x')
  const [cancelled, moved] = await Promise.all([
    tenant.post('not now', [connection]),
    tenant.post('later', [connection]),
  ])
  await untilHeld(cancelled.id)
  await untilHeld(moved.id)
  const { body } = await tenant.call<{ status: string }>('DELETE', `/v1/posts/${cancelled.id}`)
  expect(body.data.status).toBe('cancelled')
  // Further ahead than an operator's command takes on a busy machine.
  const due = new Date(Date.now() + 20_000).toISOString()
  await tenant.call('POST', `/v1/posts/${moved.id}/schedule`, { scheduled_at: due })

  // What has another time does not wait for the pause any more, but for that.
  expect((await run('resume', 'sandbox')).out).toBe('sandbox is resumed; deliveries woken: 0')
  const post = await tenant.settled(moved.id, 60_000)
  expect([post.status, post.deliveries[0]!.started_at! >= due]).toEqual(['published', true])
  expect(await app.timesAccepted('not now')).toBe(0)
})

test('a platform nobody knows: exit 1, the known ones named, nothing written', async () => {
  const { code, err } = await run('pause', 'myspace', '--reason', 'x')
  expect([code, err]).toEqual([
    1,
    'There is no platform "myspace" here; there are bluesky, mastodon, webhook_post, sandbox. Nothing was changed.',
  ])
  expect(await app.sql`select 1 from paused_platforms`).toHaveLength(0)
})

test('resuming what is not paused says so and is no failure', async () => {
  expect(await run('resume', 'sandbox')).toEqual({ code: 0, out: 'sandbox is not paused', err: '' })
})

test.each([[['unpause']], [[]], [['pause', 'sandbox']], [['resume']], [['pause', 'sandbox', '--why', 'x']]])(
  'arguments that mean nothing (%j): exit 1 with the usage',
  async (args) => {
    const { code, err } = await run(...args)
    expect([code, err]).toEqual([1, expect.stringContaining('Usage: npm run ops -- COMMAND')])
  },
)

test('help needs no database', async () => {
  const { code, out } = await ops(['help'], { DATABASE_URL: '' })
  expect([code, out]).toEqual([0, expect.stringContaining('pause PLATFORM --reason TEXT')])
})
