import type { CrashPoint } from '../../src/crash-points.js'
import { startApp, untilCrashed, type App, type Tenant } from './app.js'
import { until } from './until.js'

/** Where posts of a crash test go, and its own record of what landed there. */
export interface Destination {
  env?: NodeJS.ProcessEnv
  connect(tenant: Tenant): Promise<string>
  count(app: App, text: string): Promise<number>
}

export const SANDBOX: Destination = {
  connect: (tenant) => tenant.connect(),
  count: (app, text) => app.timesAccepted(text),
}

/** What the ledger shows after a worker was lost at a point: before any byte, nothing was sent; after it, the platform is asked first. */
export const ENDS_OF_CRASHES: [CrashPoint, (string | null)[][]][] = [
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

/** Kills a worker at the point while it delivers, starts another, and tells how the delivery ended. */
export async function crashWorkerAt(point: CrashPoint, { env = {}, connect, count }: Destination, text: string) {
  const app = await startApp({ worker: false, env })
  try {
    const tenant = await app.tenant()
    const connection = await connect(tenant)
    const crashing = await app.startWorker({ CRASH_AT: point })
    const { id } = await tenant.post(text, [connection])
    await untilCrashed(crashing, point)
    await app.startWorker()
    const post = await tenant.settled(id, 150_000)
    const attempts = (await tenant.attempts(post.deliveries[0]!)).toReversed()
    return {
      post,
      attempts: attempts.map(({ state, look_up }) => [state, look_up?.result ?? null]),
      accepted: await count(app, text),
    }
  } finally {
    await app.stop()
  }
}

/** Kills the api after it has committed a post and before anybody knows; starts it again, and tells how the post ended. */
export async function crashApi({ env = {}, connect, count }: Destination, text: string) {
  const app = await startApp({ env })
  try {
    const tenant = await app.tenant()
    const connection = await connect(tenant)
    await app.api?.stop()
    const crashing = await app.startApi({ CRASH_AT: 'post.committed' })
    await tenant.post(text, [connection]).then(
      () => Promise.reject(new Error('The api answered, although it was killed')),
      () => untilCrashed(crashing, 'post.committed'),
    )
    await app.startApi()
    const posts = await app.sql<{ id: string }[]>`select id from posts where organisation_id = ${tenant.organisationId}`
    return { posts: posts.length, post: await tenant.settled(posts[0]!.id), accepted: await count(app, text) }
  } finally {
    await app.stop()
  }
}

/** Freezes a worker at the point for longer than its heartbeat is waited for, lets another finish the work, and thaws the first.
 *  The server goes on handing tasks to the polls a frozen worker left open, each for a heartbeat's time, so this takes a minute or two. */
export async function freezeWorkerAt(point: CrashPoint, { env = {}, connect, count }: Destination, text: string) {
  const app = await startApp({ worker: false, env })
  try {
    const tenant = await app.tenant()
    const connection = await connect(tenant)
    const frozen = await app.startWorker({ CRASH_AT: point, CRASH_WITH: 'SIGSTOP' })
    const { id, deliveries } = await tenant.post(text, [connection])
    await until('the attempt was opened', async () => (await tenant.attempts(deliveries[0]!))[0])
    await app.startWorker()
    const post = await tenant.settled(id, 150_000)
    frozen.kill('SIGCONT')
    // It answers again, so whatever it was about to do is done when it has stopped in good order.
    await frozen.stop(20_000)
    const attempts = (await tenant.attempts(deliveries[0]!)).toReversed()
    return {
      status: post.status,
      after: (await tenant.read(id)).status,
      attempts: attempts.map(({ state, look_up }) => [state, look_up?.result ?? null]),
      accepted: await count(app, text),
    }
  } finally {
    await app.stop()
  }
}
