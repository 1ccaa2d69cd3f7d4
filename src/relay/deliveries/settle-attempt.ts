import { ERRORS, type ErrorCode } from '../../errors.js'
import type { Reach } from '../connections/reach-account.js'
import { settleCall, type Failure } from '../platforms/http.js'
import type { LookUp, Platform, Published } from '../platforms/platform.js'
import { noteWaiting, recordOutcome, type AttemptEnd, type DeliveryEnd, type RunView } from './ledger.js'
import { projectRun, reachDestination, type Publisher, type PublishStep } from './publisher.js'
import { connectionAfter, judge } from './rules.js'

/** A failure with what the ledger says of it. */
export interface FailedAttempt {
  number: number
  state: AttemptEnd['state']
  code: ErrorCode
  lookUp: AttemptEnd['lookUp']
  failure: Partial<Failure>
}

/** The platform took a piece. Null: more of them are to come. */
export async function settleAccepted(
  publisher: Publisher,
  view: RunView,
  attempt: { number: number; part: number; lookUp: 'found' | null },
  published: Published,
): Promise<PublishStep | null> {
  const { number, part, lookUp } = attempt
  const end = { state: 'accepted', code: null, httpStatus: null, platformMessage: null, lookUp } as const
  const more = part + 1 < projectRun(publisher, view).pieces.length
  const step = await record(publisher, view, number, end, { kind: 'taken', part, published, more })
  return more ? null : step
}

/** The attempt brought nothing: tries again within the budget, or ends the delivery with the code. */
export async function settleFailed(publisher: Publisher, view: RunView, attempt: FailedAttempt): Promise<PublishStep> {
  const { platformMessage = null, retryAfterMs = null, httpStatus = null } = attempt.failure
  // Also an earlier attempt at the piece may be the one that landed.
  const unproved =
    (attempt.state === 'unknown' && attempt.lookUp !== 'absent') ||
    view.parts.some(({ published, unprovedMs }) => !published && unprovedMs !== null)
  const { code, verdict } = await decide(publisher, view, { code: attempt.code, retryAfterMs, unproved })
  const end: AttemptEnd = { state: attempt.state, code, httpStatus, platformMessage, lookUp: attempt.lookUp }
  const message = platformMessage ?? `${view.platform}: ${code}`
  if (verdict.kind === 'retry') {
    const { inMs } = verdict
    await record(publisher, view, attempt.number, end, { kind: 'waiting', inMs, code, reason: message })
    return { kind: 'retry', inMs, code }
  }
  // That nobody knows whether it landed says nothing of the account; what the platform said last may.
  const flag = connectionAfter(code === 'publish_indeterminate' ? attempt.code : code)
  return record(publisher, view, attempt.number, end, {
    kind: 'settled',
    status: verdict.status,
    code,
    message,
    flag,
    connection: view.connection,
  })
}

async function decide(
  publisher: Publisher,
  view: RunView,
  { code: failed, retryAfterMs, unproved }: { code: ErrorCode; retryAfterMs: number | null; unproved: boolean },
) {
  const ask = (code: ErrorCode) =>
    judge({ code, retryAfterMs }, [...view.past_codes, code], { pace: publisher.pace, random: Math.random() })
  const verdict = ask(failed)
  if (verdict.kind === 'settle' && unproved) {
    const code = 'publish_indeterminate'
    return { code, verdict: { kind: 'settle', status: ERRORS[code].settles } } as const
  }
  if (verdict.kind !== 'retry' || !verdict.refresh) return { code: failed, verdict }
  const reach = reachDestination(publisher, view)
  const renewed = reach ? await reach.renew() : failed
  if (renewed === 'renewed') return { code: failed, verdict }
  // A platform that will not renew a token has said the last word; one that does not answer is asked again.
  return renewed === 'platform_unavailable'
    ? { code: renewed, verdict: ask(renewed) }
    : { code: renewed, verdict: { kind: 'settle', status: 'failed' } as const }
}

/** An attempt whose bytes may have left, and what it met. */
interface UnknownAttempt {
  number: number
  part: number
  sentMsAgo: number
  clientKey: string
  failure: Partial<Failure> & { code: ErrorCode }
}

/** An attempt whose bytes may have left: asks the platform. Found is believed at once; absent only when the platform has answered that
 *  very request, or when no copy of it can still be under way; what cannot be asked ends as publish_indeterminate. */
export async function settleUnknown(
  publisher: Publisher,
  view: RunView,
  attempt: UnknownAttempt,
): Promise<PublishStep | null> {
  const { number, part, sentMsAgo, clientKey, failure } = attempt
  const { callTimeoutMs, callGraceMs } = publisher.pace
  const reach = reachDestination(publisher, view, { lookUp: true })
  const answer = await askPlatform(reach, clientKey)
  if ('failure' in answer && sentMsAgo < publisher.pace.lookUpForMs) {
    if (answer.failure.code === 'auth_expired') await reach?.renew()
    const inMs = Math.max(publisher.pace.retryFirstMs, sentMsAgo / 4, answer.failure.retryAfterMs ?? 0)
    return askAgain(publisher, view, { inMs, code: answer.failure.code, failure })
  }
  const found = 'value' in answer ? answer.value : ({ result: 'cannot_ask' } as const)
  switch (found.result) {
    case 'landed':
      return settleAccepted(publisher, view, { number, part, lookUp: 'found' }, found)
    case 'absent': {
      const safeInMs = failure.answered ? 0 : callTimeoutMs + callGraceMs - sentMsAgo
      if (safeInMs > 0) return askAgain(publisher, view, { inMs: safeInMs, code: failure.code, failure })
      return settleFailed(publisher, view, { number, state: 'unknown', code: failure.code, lookUp: 'absent', failure })
    }
    case 'cannot_ask': {
      if (mayRepeat(reach?.platform, view, { part, sentMsAgo })) return repeatLater(publisher, view, attempt)
      const code = 'publish_indeterminate' as const
      return settleFailed(publisher, view, { number, state: 'unknown', code, lookUp: 'cannot_ask', failure })
    }
  }
}

/** Whether the platform still keeps the client key under which a piece was first sent. */
export function mayRepeat(
  platform: Platform | undefined,
  { parts }: RunView,
  { part, sentMsAgo = 0 }: { part: number; sentMsAgo?: number },
): boolean {
  const unprovedMs = parts.find(({ number }) => number === part)?.unprovedMs ?? 0
  return Math.max(unprovedMs, sentMsAgo) < (platform?.repeatableForMs ?? 0)
}

/** To be sent again under its client key, but only once no copy of the request can be under way any more: two at once could both land. */
async function repeatLater(publisher: Publisher, view: RunView, attempt: UnknownAttempt): Promise<PublishStep | null> {
  const { callTimeoutMs, callGraceMs } = publisher.pace
  const { number, sentMsAgo, failure } = attempt
  const safeInMs = failure.answered ? 0 : callTimeoutMs + callGraceMs - sentMsAgo
  if (safeInMs > 0) return askAgain(publisher, view, { inMs: safeInMs, code: failure.code, failure })
  return settleFailed(publisher, view, { number, state: 'unknown', code: failure.code, lookUp: null, failure })
}

async function askAgain(
  publisher: Publisher,
  view: RunView,
  { inMs, code, failure }: { inMs: number; code: ErrorCode; failure: Partial<Failure> & { code: ErrorCode } },
): Promise<PublishStep> {
  const met = {
    code: failure.code,
    httpStatus: failure.httpStatus ?? null,
    platformMessage: failure.platformMessage ?? null,
  }
  await noteWaiting(publisher.database, view.id, {
    inMs,
    code,
    reason: 'Asking the platform whether the post landed.',
    met,
  })
  return { kind: 'retry', inMs, code }
}

async function askPlatform(reach: Reach | null, clientKey: string): Promise<{ value: LookUp } | { failure: Failure }> {
  const lookUp = reach?.platform.lookUp
  if (!reach || !lookUp) return { value: { result: 'cannot_ask' } }
  return settleCall(() => lookUp({ clientKey, credentials: reach.credentials }, reach.http()))
}

/** Writes down how an attempt ended and what becomes of the delivery, counts it and tells of it in one line. */
export async function record(
  publisher: Publisher,
  view: RunView,
  number: number,
  end: AttemptEnd,
  delivery: DeliveryEnd,
): Promise<PublishStep> {
  publisher.crash('outcome.ready')
  const stands = await recordOutcome(publisher.database, { deliveryId: view.id, number }, end, delivery)
  if (stands) publisher.attempts.ended({ platform: view.platform, state: end.state, code: end.code })
  const event = {
    delivery_id: view.id,
    post_id: view.post_id,
    platform: view.platform,
    generation: view.generation,
    attempt: number,
  }
  publisher.log.info(
    { ...event, state: end.state, code: end.code, http_status: end.httpStatus, outcome: delivery.kind, stands },
    'delivery.attempted',
  )
  return { kind: 'settled' }
}
