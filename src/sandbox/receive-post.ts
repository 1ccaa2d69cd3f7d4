import type { Database } from '../db/client.js'
import { ERRORS, type ErrorCode } from '../errors.js'
import { readDirective } from './directive.js'
import { appendRequest, countRequests, expireToken, type SignedIn, type SandboxRequest } from './repository.js'

/** Requests per minute and account, as its rate-limit headers say. */
export const REQUESTS_PER_MINUTE = 6_000

/** How the sandbox answers one publish request; the limit is renewed in `resetS` seconds. */
export type Reply = { remaining: number; resetS: number } & (
  | { kind: 'refused'; status: number; code: ErrorCode }
  | { kind: 'accepted'; postId: string; afterMs: number }
  | { kind: 'dropped' }
)

/** Writes a publish request down and decides the answer by its magic text. What is accepted is on the list before any answer leaves. */
export async function receivePost(database: Database, account: SignedIn, said: SandboxRequest): Promise<Reply> {
  const { clientKey } = said
  const { refuse, slowMs, drop, limitS } = readDirective(said.text)
  const { ofKey, lastMinute } = await countRequests(database, account.id, clientKey)
  const remaining = limitS ? 0 : Math.max(0, REQUESTS_PER_MINUTE - lastMinute - 1)
  const limit = { remaining, resetS: limitS ?? 60 }
  const code = codeOf({
    expired: account.expired,
    lastMinute,
    refuse: refuse && ofKey < refuse.times ? refuse.code : null,
  })
  const postId = await appendRequest(database, account.id, said, code ?? 'accepted')
  if (code === 'auth_expired') await expireToken(database, account)
  if (code) return { kind: 'refused', ...limit, status: refuse?.inside200 ? 200 : ERRORS[code].http, code }
  if (!postId) throw new Error('An accepted request has no post')
  return drop ? { kind: 'dropped', ...limit } : { kind: 'accepted', ...limit, postId, afterMs: slowMs }
}

function codeOf({
  expired,
  lastMinute,
  refuse,
}: {
  expired: boolean
  lastMinute: number
  refuse: ErrorCode | null
}): ErrorCode | null {
  if (expired) return 'auth_expired'
  return lastMinute >= REQUESTS_PER_MINUTE ? 'rate_limited' : refuse
}
