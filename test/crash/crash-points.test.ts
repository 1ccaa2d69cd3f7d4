import type { CrashPoint } from '../../src/crash-points.js'
import type { Post } from '../../src/relay/posts/schema.js'
import { startApp, untilCrashed, type App } from '../support/app.js'

/** Kills a worker at the point while it delivers, starts another, and tells how the delivery ended. */
async function crashWorkerAt(point: CrashPoint, text: string) {
  const app = await startApp({ worker: false })
  try {
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    const crashing = await app.startWorker({ CRASH_AT: point })
    const { id } = await tenant.post(text, [connection])
    await untilCrashed(crashing, point)
    await app.startWorker()
    const post = await tenant.settled(id, 50_000)
    const attempts = (await tenant.attempts(post.deliveries[0]!)).toReversed()
    return {
      post,
      attempts: attempts.map(({ state, look_up }) => [state, look_up?.result ?? null]),
      accepted: await app.timesAccepted(text),
    }
  } finally {
    await app.stop()
  }
}

/** What the ledger shows afterwards: before any byte, nothing was sent; after it, the platform is asked first. */
const ENDS: [CrashPoint, (string | null)[][]][] = [
  [
    'attempt.intent',
    [
      ['not_sent', null],
      ['accepted', null],
    ],
  ],
  [
    'attempt.sent',
    [
      ['unknown', 'absent'],
      ['accepted', null],
    ],
  ],
  ['call.answered', [['accepted', 'found']]],
  ['outcome.ready', [['accepted', 'found']]],
]

describe('a worker killed while it delivers loses nothing and doubles nothing', () => {
  test.concurrent.each(ENDS)('at %s', async (point, ledger) => {
    const { post, attempts, accepted } = await crashWorkerAt(point, `killed at ${point}`)
    expect(accepted).toBe(1)
    expect(post.status).toBe('published')
    expect(attempts).toEqual(ledger)
  })

  test.concurrent.each(['call.answered', 'outcome.ready'] as const)(
    'at %s of a post that cannot be looked up',
    async (point) => {
      const { post, accepted } = await crashWorkerAt(point, `blind at ${point} [sandbox:drop-blind]`)
      expect([accepted, post.status, post.deliveries[0]?.error_code]).toEqual([1, 'failed', 'publish_indeterminate'])
    },
  )
})

test('an api killed between commit and start: the post is kept, and goes out once', async () => {
  const app: App = await startApp()
  try {
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    await app.api?.stop()
    const crashing = await app.startApi({ CRASH_AT: 'post.committed' })
    await expect(tenant.post('api killed', [connection])).rejects.toThrow()
    await untilCrashed(crashing, 'post.committed')
    await app.startApi()
    const posts = await app.sql<
      Pick<Post, 'id'>[]
    >`select id from posts where organisation_id = ${tenant.organisationId}`
    expect(posts).toHaveLength(1)
    expect((await tenant.settled(posts[0]!.id)).status).toBe('published')
    expect(await app.timesAccepted('api killed')).toBe(1)
  } finally {
    await app.stop()
  }
})
