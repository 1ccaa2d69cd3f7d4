import type { AcceptedPost } from '../../../src/relay/posts/schema.js'
import { startApp, untilCrashed, type App, type Tenant } from '../../support/app.js'
import { until } from '../../support/until.js'

let app: App
let tenant: Tenant

beforeAll(async () => {
  app = await startApp()
  tenant = await app.tenant()
})
afterAll(() => app.stop())

const thread = (...texts: string[]) => ({
  text: texts[0],
  parts: texts.slice(1, -1).map((text) => ({ text })),
  first_comment: { text: texts.at(-1) },
})

async function send(content: object, connection: string): Promise<AcceptedPost> {
  return (await tenant.call<AcceptedPost>('POST', '/v1/posts', { content, connection_ids: [connection] })).body.data
}

/** What the account's platform holds, oldest first, each with the text it replies to. */
const timeline = (connection: string) =>
  app.sql<{ text: string; under: string | null }[]>`
    select r.text, parent.text as under
      from sandbox_requests r left join sandbox_requests parent on parent.post_id = r.reply_to
      join connections c on c.account_id = r.account_id
     where c.id = ${connection} and r.outcome = 'accepted' order by r.seq`

test('each part replies to the one before it, the comment to the post', async () => {
  const connection = await tenant.connect('thread')
  const post = await tenant.settled((await send(thread('one', 'two', 'three', 'comment'), connection)).id)
  expect(post.status).toBe('published')
  expect((await timeline(connection)).map(({ text, under }) => [text, under])).toEqual([
    ['one', null],
    ['two', 'one'],
    ['three', 'two'],
    ['comment', 'one'],
  ])
  const attempts = (await tenant.attempts(post.deliveries[0]!)).toReversed()
  expect(attempts.map(({ part, state }) => [part, state])).toEqual([0, 1, 2, 3].map((part) => [part, 'accepted']))
  expect(post.deliveries[0]!.remote_id).toBe(attempts[0]!.remote_id)
})

test('a part that fails ends the delivery where it stands; a retry goes on from there and repeats nothing', async () => {
  const connection = await tenant.connect('broken')
  const { id } = await send(thread('first', 'second [sandbox:quota_exceeded*1]', 'third'), connection)
  const failed = await tenant.settled(id)
  expect(failed.deliveries[0]).toMatchObject({
    status: 'failed',
    error_code: 'quota_exceeded',
    remote_url: expect.any(String),
  })
  await tenant.call('POST', `/v1/posts/${id}/retry`)
  expect((await tenant.settled(id)).status).toBe('published')
  expect((await timeline(connection)).map(({ text }) => text)).toEqual([
    'first',
    'second [sandbox:quota_exceeded*1]',
    'third',
  ])
})

test('a line that is cut in the middle of a thread is looked up by the part’s own key', async () => {
  const connection = await tenant.connect('cut')
  const { id } = await send(thread('a', 'b [sandbox:drop]', 'c'), connection)
  const post = await tenant.settled(id)
  expect([post.status, (await timeline(connection)).length]).toEqual(['published', 3])
  const attempts = (await tenant.attempts(post.deliveries[0]!)).toReversed()
  expect(attempts.map(({ look_up }) => look_up?.result ?? null)).toEqual([null, 'found', null])
})

test.each(['attempt.intent', 'attempt.sent', 'call.answered', 'outcome.ready'] as const)(
  'a worker that is killed at %s leaves every part exactly once',
  async (point) => {
    const connection = await tenant.connect(point)
    await app.worker!.stop()
    const dying = await app.startWorker({ CRASH_AT: point })
    const { id } = await send(thread(`1 ${point}`, `2 ${point}`, `3 ${point}`), connection)
    await untilCrashed(dying, point)
    await app.startWorker()
    const post = await until(
      'the thread is out',
      async () => {
        const read = await tenant.read(id)
        return read.settled_at ? read : null
      },
      60_000,
    )
    expect(post.status).toBe('published')
    expect((await timeline(connection)).map(({ text }) => text)).toEqual([`1 ${point}`, `2 ${point}`, `3 ${point}`])
  },
  90_000,
)

test('a token that lapses at two pieces is renewed at each', async () => {
  const connection = await tenant.connect('lapses twice')
  const { id } = await send(thread('x [sandbox:auth_expired*1]', 'y [sandbox:auth_expired*1]', 'z'), connection)
  expect((await tenant.settled(id)).status).toBe('published')
  expect(await timeline(connection)).toHaveLength(3)
})

test('a thread that is half out is left as it is when its post gets another time', async () => {
  const connection = await tenant.connect('half out')
  const { id, deliveries } = await send(thread('half', 'waits [sandbox:rate_limited*1]', 'last'), connection)
  await until('it waits in its middle', async () => (await tenant.read(id)).deliveries[0]!.waiting_for !== null)
  const { body } = await tenant.call<{ skipped: { delivery_id: string }[] }>('POST', `/v1/posts/${id}/schedule`, {
    scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
  expect(body.data.skipped.map(({ delivery_id }) => delivery_id)).toEqual([deliveries[0]!.id])
  expect((await tenant.settled(id)).status).toBe('published')
})
