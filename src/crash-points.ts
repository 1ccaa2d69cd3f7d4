/** Where a test may kill a process: each is a moment after which something is committed or sent and nothing else is. */
export const CRASH_POINTS = [
  'post.committed',
  'attempt.intent',
  'attempt.sent',
  'call.answered',
  'outcome.ready',
] as const

export type CrashPoint = (typeof CRASH_POINTS)[number]

/** Call it at the named moment; it does not return where it is armed. */
export type Crash = (point: CrashPoint) => void

/** SIGKILL of this very process at the point `armed` names (`CRASH_AT`, refused in production), so that no handler of ours can tidy up. */
export function armCrashPoint(armed: CrashPoint | undefined): Crash {
  return (point) => {
    if (point === armed) process.kill(process.pid, 'SIGKILL')
  }
}
