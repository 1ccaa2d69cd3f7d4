/** Where a test may kill a process: each is a moment after which something is committed or sent and nothing else is. */
export const CRASH_POINTS = [
  'post.committed',
  'attempt.intent',
  'attempt.sent',
  'call.answered',
  'outcome.ready',
  'webhook.claimed',
  'webhook.answered',
] as const

export type CrashPoint = (typeof CRASH_POINTS)[number]

/** Call it at the named moment; it does not return where it is armed. */
export type Crash = (point: CrashPoint) => void

/** How a process meets its crash point: killed, so that no handler of ours can tidy up, or frozen until somebody thaws it. */
export const CRASH_SIGNALS = ['SIGKILL', 'SIGSTOP'] as const

/** Sends this very process the signal at the point that `at` names (`CRASH_AT`, `CRASH_WITH`, refused in production). */
export function armCrashPoint({
  at,
  signal,
}: {
  at: CrashPoint | undefined
  signal: (typeof CRASH_SIGNALS)[number]
}): Crash {
  return (point) => {
    if (point === at) process.kill(process.pid, signal)
  }
}
