import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CallFailure, settleCall } from '../platforms/http.js'
import { project } from '../posts/projection.js'
import { claimDelivery, markSent, readRun, recordOutcome, type RunView } from './ledger.js'
import { reachDestination, type Publisher, type PublishStep } from './publisher.js'
import { isSettled, judge } from './rules.js'
import type { DeliveryRun } from './schema.js'
import { settleAccepted, settleFailed, settleUnknown } from './settle-attempt.js'

/** A run that is early by less waits inside its activity; more is the workflow's to wait for. */
const WAIT_HERE_MS = 1_000

/** Takes a delivery one step on. The ledger decides what may be done, so it may be repeated at any time, by any worker, and after any crash. */
export async function publishDelivery(publisher: Publisher, run: DeliveryRun): Promise<PublishStep> {
  for (;;) {
    const view = await readRun(publisher.database, run)
    if (!view || isSettled(view.status)) return { kind: 'settled' }
    if (view.open?.state === 'sent') return resumeSent(publisher, view, view.open)
    if (view.open) {
      const step = await closeUnsent(publisher, view, view.open.number)
      if (step) return step
      continue
    }
    if (view.status === 'processing') throw new Error(`Delivery ${view.id} is processing without an open attempt`)
    if (view.early_ms >= WAIT_HERE_MS) return { kind: 'wait', waitMs: view.early_ms }
    if (view.early_ms > 0) await sleep(view.early_ms)
    const step = await attemptDelivery(publisher, run, view)
    if (step) return step
  }
}

async function resumeSent(
  publisher: Publisher,
  view: RunView,
  open: NonNullable<RunView['open']>,
): Promise<PublishStep> {
  if (!view.client_key) throw new Error(`Delivery ${view.id} was sent without a client key`)
  const attempt = { number: open.number, sentMsAgo: open.sent_ms_ago ?? 0, clientKey: view.client_key }
  return settleUnknown(publisher, view, { ...attempt, failure: open.met ?? { code: 'platform_unavailable' } })
}

/** An attempt a crash left before its bytes: nothing was sent, so the delivery is free again, at once while its budget lasts. */
async function closeUnsent(publisher: Publisher, view: RunView, number: number): Promise<PublishStep | null> {
  const code = 'platform_error'
  const verdict = judge({ code, retryAfterMs: null }, [...view.past_codes, code], { pace: publisher.pace, random: 0.5 })
  const platformMessage = 'The worker stopped before anything was sent.'
  if (verdict.kind === 'settle')
    return settleFailed(publisher, view, {
      number,
      state: 'not_sent',
      code,
      lookUp: null,
      failure: { platformMessage },
    })
  const end = { state: 'not_sent', code, httpStatus: null, platformMessage, lookUp: null } as const
  await recordOutcome(publisher.database, { deliveryId: view.id, attempt: number }, end, {
    kind: 'waiting',
    inMs: 0,
    code: null,
    reason: null,
  })
  return null
}

/** Claims, sends and settles. Null when the claim was lost: the row says to whom. */
async function attemptDelivery(publisher: Publisher, run: DeliveryRun, view: RunView): Promise<PublishStep | null> {
  const platform = publisher.platforms.get(view.platform)
  const claim = await claimDelivery(publisher.database, run, platform?.newClientKey?.() ?? randomUUID())
  if (!claim) return null
  publisher.crash('attempt.intent')
  const { attempt: number, clientKey } = claim

  const reach = reachDestination(publisher, view)
  if (!reach) {
    const failure = { platformMessage: `The connection is ${view.connection.status}.` }
    return settleFailed(publisher, view, {
      number,
      state: 'not_sent',
      code: 'connection_unavailable',
      lookUp: null,
      failure,
    })
  }
  const sending = beginSending(publisher, run, number)
  const answer = await settleCall(async () => {
    const { platform, credentials } = reach
    const http = reach.http(sending.commit)
    const { text } = project(platform, view.content)
    const prepared = (await platform.prepare?.({ text }, http)) ?? null
    return platform.publish({ text, clientKey, prepared, credentials }, http)
  }, sending.begun)
  publisher.crash('call.answered')

  if ('value' in answer) return settleAccepted(publisher, view, { number, lookUp: null }, answer.value)
  const { failure } = answer
  if (!(answer.error instanceof CallFailure))
    publisher.log.error({ error: answer.error, delivery_id: view.id }, 'publish.broken')
  if (sending.begun() && failure.certainty === 'ambiguous')
    return settleUnknown(publisher, view, { number, sentMsAgo: sending.msAgo(), clientKey, failure })
  const state = sending.begun() && failure.certainty === 'refused' ? 'refused' : 'not_sent'
  return settleFailed(publisher, view, { number, state, code: failure.code, lookUp: null, failure })
}

/** The moment before the first byte: commits `sent`, and lets nothing leave once the fence is lost, or later than the grace after it: with the
 *  call's own time, that is when a look-up may believe that nothing will arrive any more. */
function beginSending(publisher: Publisher, run: DeliveryRun, attempt: number) {
  const { callGraceMs } = publisher.pace
  let begunAt: number | null = null
  return {
    begun: () => begunAt !== null,
    msAgo: () => performance.now() - (begunAt ?? performance.now()),
    async commit() {
      const asked = performance.now()
      const mine = await markSent(publisher.database, run, attempt)
      if (mine) publisher.crash('attempt.sent')
      // A worker that was frozen here may thaw after another has looked the attempt up.
      if (!mine || performance.now() - asked > callGraceMs)
        throw new CallFailure('The attempt was overtaken', { code: 'platform_unavailable', certainty: 'not_sent' })
      begunAt = asked
    },
  }
}
