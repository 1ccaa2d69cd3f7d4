import type { CrashPoint } from '../../src/crash-points.js'
import { startApp } from '../support/app.js'
import { until } from '../support/until.js'

// The server goes on handing tasks to the polls a frozen worker left open, each for a heartbeat's time: this takes a minute or two.

/** Freezes a worker at the point for longer than its heartbeat is waited for, lets another finish the work, and thaws the first. */
async function freezeAt(point: CrashPoint, text: string) {
  const app = await startApp({ worker: false })
  try {
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    const frozen = await app.startWorker({ CRASH_AT: point, CRASH_WITH: 'SIGSTOP' })
    const { id, deliveries } = await tenant.post(text, [connection])
    await until('the attempt was opened', async () => (await tenant.attempts(deliveries[0]!))[0])
    await app.startWorker()
    const post = await tenant.settled(id, 150_000)
    frozen.kill('SIGCONT')
    // It answers again, so whatever it was about to do is done when it has stopped in good order.
    await frozen.stop(20_000)
    const attempts = (await tenant.attempts(deliveries[0]!))
      .toReversed()
      .map(({ state, look_up }) => [state, look_up?.result ?? null])
    return {
      status: post.status,
      after: (await tenant.read(id)).status,
      attempts,
      accepted: await app.timesAccepted(text),
    }
  } finally {
    await app.stop()
  }
}

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

describe('a worker frozen past its heartbeat, overtaken and thawed, sends nothing twice and changes nothing', () => {
  test.concurrent.each(ENDS)(
    'at %s',
    async (point, ledger) => {
      const { status, after, attempts, accepted } = await freezeAt(point, `frozen at ${point}`)
      expect([status, after, accepted]).toEqual(['published', 'published', 1])
      expect(attempts).toEqual(ledger)
    },
    200_000,
  )
})
