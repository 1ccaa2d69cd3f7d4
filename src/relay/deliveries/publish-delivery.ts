import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorCode } from '../../errors.js'
import { CallFailure, settleCall } from '../platforms/http.js'
import type { Piece, Published, PublishRequest } from '../platforms/platform.js'
import { fetchMedia } from '../media/fetch-media.js'
import { loadImage } from '../media/load-image.js'
import { findObstacle, noteFetched } from './check-media.js'
import { waitAtGate, withSlot } from './gates.js'
import { claimDelivery, markSent, readRun, type RunView } from './ledger.js'
import type { Reach } from '../connections/reach-account.js'
import { projectRun, reachDestination, type Publisher, type PublishStep } from './publisher.js'
import { isSettled, judge } from './rules.js'
import type { DeliveryRun } from './schema.js'
import { mayRepeat, record, settleAccepted, settleFailed, settleUnknown } from './settle-attempt.js'

/** A run that is early by less waits inside its activity; more is the workflow's to wait for. */
const WAIT_HERE_MS = 1_000

/** After so long no further piece is begun: one that takes its whole call timeout must still end in time. */
const LONGEST_RUN_MS = 10_000

/** Takes a delivery one step on. The ledger decides what may be done, so it may be repeated at any time, by any worker, and after any crash. */
export async function publishDelivery(publisher: Publisher, run: DeliveryRun): Promise<PublishStep> {
  const begunAt = performance.now()
  for (;;) {
    // A long thread goes on in another try of the activity, whose own time is limited.
    if (performance.now() - begunAt > LONGEST_RUN_MS)
      return { kind: 'retry', inMs: 0, code: null, why: 'the next piece' }
    const view = await readRun(publisher.database, run)
    if (!view || isSettled(view.status)) return { kind: 'settled' }
    if (view.open) {
      const step = await resume(publisher, view, view.open)
      if (step) return step
      continue
    }
    if (view.status === 'processing') throw new Error(`Delivery ${view.id} is processing without an open attempt`)
    if (view.early_ms >= WAIT_HERE_MS) return { kind: 'wait', waitMs: view.early_ms }
    if (view.early_ms > 0) await sleep(view.early_ms)
    const held = (await waitAtGate(publisher, run, view)) ?? (await fetchMedia(publisher, view))
    if (held === 'fetched') continue
    const step = held ?? (await withSlot(publisher, view, () => attemptDelivery(publisher, run, view)))
    if (step) return step
  }
}

type OpenAttempt = NonNullable<RunView['open']>

/** Settles what a crash, or a wait for the platform's word, left open. Null: the delivery may go on at once. */
async function resume(publisher: Publisher, view: RunView, open: OpenAttempt): Promise<PublishStep | null> {
  const { number, part, state, sent_ms_ago: sentMsAgo, met } = open
  if (state === 'intent') return closeUnsent(publisher, view, number)
  const { clientKey } = view.parts.find((begun) => begun.number === part) ?? {}
  if (!clientKey) throw new Error(`Delivery ${view.id} was sent without a client key`)
  const failure = met ?? { code: 'platform_unavailable' as const }
  const attempt = { number, part, sentMsAgo: sentMsAgo ?? 0, clientKey, failure }
  return withSlot(publisher, view, () => settleUnknown(publisher, view, attempt))
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
  await record(publisher, view, number, end, { kind: 'waiting', inMs: 0, code: null, reason: null })
  return null
}

/** Claims the next piece, sends it and settles. Null when the claim was lost, the row says to whom; or when the next piece may follow. */
async function attemptDelivery(publisher: Publisher, run: DeliveryRun, view: RunView): Promise<PublishStep | null> {
  await noteFetched(publisher, view)
  const part = view.parts.filter(({ published }) => published).length
  const newClientKey = publisher.platforms.get(view.platform)?.newClientKey?.() ?? randomUUID()
  const claim = await claimDelivery(publisher.database, run, { number: part, clientKey: newClientKey })
  if (!claim) return null
  publisher.crash('attempt.intent')
  const { attempt: number, clientKey } = claim

  const reach = reachDestination(publisher, view)
  if (!reach) {
    const message = `The connection is ${view.connection.status}.`
    return settleUnsent(publisher, view, number, { code: 'connection_unavailable', message })
  }
  if (view.parts[part]?.unprovedMs && !mayRepeat(reach.platform, view, { part })) {
    const message = 'It may have landed, and its key is not kept any more.'
    return settleUnsent(publisher, view, number, { code: 'publish_indeterminate', message })
  }
  const obstacle = findObstacle(publisher, view)
  if (obstacle) return settleUnsent(publisher, view, number, obstacle)
  const sending = beginSending(publisher, run, number)
  const answer = await settleCall(() => call(publisher, view, { reach, part, clientKey, sending }), sending.begun)
  publisher.crash('call.answered')

  if ('value' in answer) return settleAccepted(publisher, view, { number, part, lookUp: null }, answer.value)
  const { failure } = answer
  if (!(answer.error instanceof CallFailure))
    publisher.log.error({ error: answer.error, delivery_id: view.id }, 'publish.broken')
  if (sending.begun() && failure.certainty === 'ambiguous')
    return settleUnknown(publisher, view, { number, part, sentMsAgo: sending.msAgo(), clientKey, failure })
  const state = sending.begun() && failure.certainty === 'refused' ? 'refused' : 'not_sent'
  return settleFailed(publisher, view, { number, state, code: failure.code, lookUp: null, failure })
}

/** Ends an attempt before its bytes for a reason of our own. */
function settleUnsent(
  publisher: Publisher,
  view: RunView,
  number: number,
  { code, message: platformMessage }: { code: ErrorCode; message: string },
): Promise<PublishStep> {
  return settleFailed(publisher, view, { number, state: 'not_sent', code, lookUp: null, failure: { platformMessage } })
}

interface Call {
  reach: Reach
  part: number
  clientKey: string
  sending: { commit(): Promise<void> }
}

async function call(
  publisher: Publisher,
  view: RunView,
  { reach, part, clientKey, sending }: Call,
): Promise<Published> {
  const { platform, credentials } = reach
  const { pieces, settings } = projectRun(publisher, view)
  const piece = pieces[part]
  if (!piece) throw new Error(`Delivery ${view.id} has no piece ${part}`)
  const http = reach.http(sending.commit)
  const projection = { ...piece, settings }
  const prepared =
    (await platform.prepare?.(projection, http, (item) => loadImage(publisher.blobs, platform, item))) ?? null
  return platform.publish({ ...projection, clientKey, prepared, credentials, replyTo: replyTo(piece, view) }, http)
}

/** A part continues the piece before it; a comment stands under the post. */
function replyTo({ kind }: Piece, { parts }: RunView): PublishRequest['replyTo'] {
  const taken = parts.flatMap(({ published }) => published ?? [])
  const [root] = taken
  const previous = taken.at(-1)
  if (kind === 'post' || !root || !previous) return null
  return { root, parent: kind === 'comment' ? root : previous }
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
