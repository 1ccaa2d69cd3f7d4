import type { Pace } from '../../config.js'
import { ERRORS, type ErrorCode } from '../../errors.js'
import type { DeliveryStatus } from './schema.js'

/** Attempts that count at the most (decisions.md 1); a renewed token and a pause do not count. */
export const ATTEMPT_BUDGET = 8

/** What happens to a delivery after an attempt that was not accepted. */
export type Verdict =
  { kind: 'settle'; status: 'failed' | 'rejected' } | { kind: 'retry'; inMs: number; refresh: boolean }

/** Whether a status is final. */
export function isSettled(status: DeliveryStatus): boolean {
  return status !== 'pending' && status !== 'processing'
}

/** Whether an attempt that ended with this code counts against the budget. */
function counts(code: string | null): boolean {
  const retry = code && code in ERRORS ? ERRORS[code as ErrorCode].retry : 'backoff'
  return retry !== 'refresh' && retry !== 'defer'
}

/** `first` × 2 for each attempt before, up to `longest`, ± 20 %; `random` is in [0, 1). */
export function backoffMs(attempts: number, pace: Pace, random: number): number {
  const plain = Math.min(pace.retryLongestMs, pace.retryFirstMs * 2 ** Math.max(0, attempts - 1))
  return Math.round(plain * (0.8 + 0.4 * random))
}

/** Decides what follows a failure. `past` are the codes of this generation's attempts, the one that failed last. A token is renewed once in a row:
 *  one that lapses again hours later is renewed again. */
export function judge(
  failure: { code: ErrorCode; retryAfterMs: number | null },
  past: readonly (string | null)[],
  { pace, random }: { pace: Pace; random: number },
): Verdict {
  const { retry, settles } = ERRORS[failure.code]
  const final = { kind: 'settle', status: settles } as const
  const counted = past.filter(counts).length
  const wait = Math.max(failure.retryAfterMs ?? 0, backoffMs(counted, pace, random))
  switch (retry) {
    case 'never':
      return final
    case 'refresh':
      return past.at(-2) === failure.code ? final : { kind: 'retry', inMs: 0, refresh: true }
    case 'defer':
      return { kind: 'retry', inMs: wait, refresh: false }
    case 'backoff':
      return counted >= ATTEMPT_BUDGET ? final : { kind: 'retry', inMs: wait, refresh: false }
  }
}

/** What a connection becomes when the platform refuses its credentials for good; null where it does not concern them. */
export function connectionAfter(code: ErrorCode): 'reauth_required' | 'revoked' | null {
  if (code === 'auth_expired') return 'reauth_required'
  return code === 'auth_revoked' ? 'revoked' : null
}
