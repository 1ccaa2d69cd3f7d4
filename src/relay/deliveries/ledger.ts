import type { Database, Sql } from '../../db/client.js'
import { ERRORS, type ErrorCode } from '../../errors.js'
import type { Content } from '../posts/schema.js'
import { flagConnection } from '../connections/repository.js'
import { rollUpPost } from '../posts/repository.js'
import type { Published } from '../platforms/platform.js'
import type { AttemptState, DeliveryRun, DeliveryStatus } from './schema.js'

/** What a run must know before it acts, read in one statement. */
export interface RunView {
  id: string
  organisation_id: string
  post_id: string
  platform: string
  status: DeliveryStatus
  generation: number
  /** Milliseconds until it may act, by the database's clock; ≤ 0 is due. */
  early_ms: number
  content: Content
  connection: { id: string; status: string; credentials: string | null }
  /** The client key of part 0 once it was chosen. */
  client_key: string | null
  /** The attempt a crash, or a wait for its look-up, left open. */
  open: { number: number; state: 'intent' | 'sent'; sent_ms_ago: number | null; met: Met | null } | null
  /** The codes of this generation's closed attempts. */
  past_codes: (string | null)[]
}

/** Reads a delivery for one of its runs; null when the run is overtaken or there is no such delivery. */
export async function readRun(sql: Sql, { deliveryId, generation }: DeliveryRun): Promise<RunView | null> {
  const [row] = await sql<RunView[]>`
    select d.id, d.organisation_id, d.post_id, d.platform, d.status, d.generation,
           ceil(extract(epoch from greatest(d.due_at, d.next_attempt_at) - now()) * 1000)::float8 as early_ms,
           p.content,
           jsonb_build_object('id', d.connection_id, 'status', coalesce(c.status, 'revoked'), 'credentials', c.credentials) as connection,
           (select client_key from delivery_parts where delivery_id = d.id and number = 0) as client_key,
           (select jsonb_build_object('number', a.number, 'state', a.state,
                                      'sent_ms_ago', extract(epoch from now() - a.sent_at) * 1000,
                                      'met', case when a.error_code is not null then
                                               jsonb_build_object('code', a.error_code, 'httpStatus', a.http_status,
                                                                  'platformMessage', a.platform_message) end)
              from attempts a where a.delivery_id = d.id and a.state in ('intent', 'sent')) as open,
           array(select error_code from attempts a
                  where a.delivery_id = d.id and a.generation = d.generation and a.ended_at is not null order by number) as past_codes
      from deliveries d join posts p on p.id = d.post_id left join connections c on c.id = d.connection_id
     where d.id = ${deliveryId} and d.generation = ${generation}`
  return row ?? null
}

/** Takes a due delivery and opens its attempt (`intent`) with the part's client key, in one statement. Null: cancelled, moved or overtaken. */
export async function claimDelivery(
  sql: Sql,
  { deliveryId, generation }: DeliveryRun,
  newClientKey: string,
): Promise<{ attempt: number; clientKey: string } | null> {
  const [claim] = await sql<{ attempt: number; clientKey: string }[]>`
    with delivery as (
      update deliveries
         set status = 'processing', started_at = coalesce(started_at, now()), next_attempt_at = null, waiting_for = null
       where id = ${deliveryId} and generation = ${generation} and status = 'pending'
         and greatest(due_at, next_attempt_at) <= now()
      returning id, post_id, generation),
    post as (
      update posts set status = 'publishing', updated_at = now()
       where id = (select post_id from delivery) and status in ('scheduled', 'queued')),
    part as (
      insert into delivery_parts (delivery_id, number, client_key) select id, 0, ${newClientKey} from delivery
      on conflict (delivery_id, number) do update set number = excluded.number
      returning client_key)
    insert into attempts (delivery_id, number, generation, state)
    select id, (select coalesce(max(number), 0) + 1 from attempts where delivery_id = ${deliveryId}), generation, 'intent' from delivery
    returning number as attempt, (select client_key from part) as "clientKey"`
  return claim ?? null
}

/** Commits that bytes are about to leave. False: this attempt was closed, or its run overtaken, and may not send. */
export async function markSent(sql: Sql, { deliveryId, generation }: DeliveryRun, attempt: number): Promise<boolean> {
  const { count } = await sql`
    update attempts a set state = 'sent', sent_at = now()
      from deliveries d
     where a.delivery_id = ${deliveryId} and a.number = ${attempt} and a.state = 'intent'
       and d.id = a.delivery_id and d.generation = ${generation} and a.generation = d.generation and d.status = 'processing'`
  return count === 1
}

/** How an attempt ended, as the ledger keeps it. */
export interface AttemptEnd {
  state: Exclude<AttemptState, 'intent' | 'sent'>
  code: ErrorCode | null
  httpStatus: number | null
  platformMessage: string | null
  lookUp: 'found' | 'absent' | 'cannot_ask' | null
}

/** What becomes of the delivery with it. */
export type DeliveryEnd =
  | { kind: 'succeeded'; published: Published }
  | {
      kind: 'settled'
      status: 'failed' | 'rejected'
      code: ErrorCode
      message: string
      /** What the connection becomes with it, unless it was given other credentials meanwhile. */
      flag: 'reauth_required' | 'revoked' | null
      connection: { id: string; credentials: string | null }
    }
  | { kind: 'waiting'; inMs: number; code: ErrorCode | null; reason: string | null }

/** How the call of an attempt failed, as far as that is known. */
export interface Met {
  code: ErrorCode
  httpStatus: number | null
  platformMessage: string | null
}

/** Says in the rows of a delivery under way what it waits for and until when, and what its attempt, which stays open, has met so far. */
export async function noteWaiting(
  sql: Sql,
  deliveryId: string,
  { inMs, code, reason, met }: { inMs: number; code: ErrorCode; reason: string; met: Met },
): Promise<void> {
  const waiting = { code, reason, until: new Date(Date.now() + inMs).toISOString() }
  await sql`
    update deliveries set next_attempt_at = now() + ${inMs} * interval '1 millisecond', waiting_for = ${sql.json(waiting)}
     where id = ${deliveryId} and status = 'processing'`
  await sql`
    update attempts set error_code = ${met.code}, http_status = ${met.httpStatus}, platform_message = ${met.platformMessage}
     where delivery_id = ${deliveryId} and state = 'sent'`
}

/** Writes attempt, delivery, part, post and connection together. False: the attempt was closed by another, whose word stands. */
export async function recordOutcome(
  database: Database,
  { deliveryId, attempt }: { deliveryId: string; attempt: number },
  end: AttemptEnd,
  delivery: DeliveryEnd,
): Promise<boolean> {
  return database.begin(async (tx) => {
    if (!(await closeAttempt(tx, { deliveryId, attempt }, end, delivery))) return false
    const postId = await moveDelivery(tx, deliveryId, end, delivery)
    if (delivery.kind === 'settled' && delivery.flag) {
      const { flag: status, code, message, connection } = delivery
      await flagConnection(tx, connection.id, { status, code, message, used: connection.credentials })
    }
    if (postId && delivery.kind !== 'waiting') await rollUpPost(tx, postId)
    return true
  })
}

async function closeAttempt(
  tx: Sql,
  { deliveryId, attempt }: { deliveryId: string; attempt: number },
  end: AttemptEnd,
  delivery: DeliveryEnd,
): Promise<boolean> {
  const remoteId = delivery.kind === 'succeeded' ? delivery.published.remoteId : null
  const lookUp = end.lookUp && { result: end.lookUp, at: new Date().toISOString() }
  const { count } = await tx`
    update attempts
       set state = ${end.state}, ended_at = now(), http_status = ${end.httpStatus}, error_code = ${end.code},
           platform_message = ${end.platformMessage}, remote_id = ${remoteId}, look_up = ${lookUp && tx.json(lookUp)}
     where delivery_id = ${deliveryId} and number = ${attempt} and state in ('intent', 'sent')`
  return count === 1
}

async function moveDelivery(
  tx: Sql,
  deliveryId: string,
  end: AttemptEnd,
  delivery: DeliveryEnd,
): Promise<string | null> {
  const set = (changes: Record<string, unknown>) => tx<{ post_id: string }[]>`
    update deliveries set ${tx(changes as Record<string, string>)}
     where id = ${deliveryId} and status = 'processing' returning post_id`
  const [row] = await set(columnsOf(tx, end, delivery))
  if (row && delivery.kind === 'succeeded') {
    const { remoteId, remoteUrl } = delivery.published
    await tx`
      update delivery_parts set remote_id = ${remoteId}, remote_url = ${remoteUrl}, accepted_at = now()
       where delivery_id = ${deliveryId} and number = 0`
  }
  return row?.post_id ?? null
}

const WAITS_FOR_NOTHING = { next_attempt_at: null, waiting_for: null }

function columnsOf(tx: Sql, end: AttemptEnd, delivery: DeliveryEnd): Record<string, unknown> {
  switch (delivery.kind) {
    case 'succeeded': {
      const { remoteId, remoteUrl } = delivery.published
      return {
        status: 'succeeded',
        remote_id: remoteId,
        remote_url: remoteUrl,
        settled_at: tx`now()`,
        ...WAITS_FOR_NOTHING,
      }
    }
    case 'settled': {
      const { code, message, status } = delivery
      const error = { message, platform_message: end.platformMessage, next_step: ERRORS[code].nextStep }
      return { status, error_code: code, error: tx.json(error), settled_at: tx`now()`, ...WAITS_FOR_NOTHING }
    }
    case 'waiting': {
      const next = tx`now() + ${delivery.inMs} * interval '1 millisecond'`
      const until = new Date(Date.now() + delivery.inMs).toISOString()
      const waiting = delivery.code && tx.json({ code: delivery.code, reason: delivery.reason ?? '', until })
      return { status: 'pending', next_attempt_at: next, waiting_for: waiting }
    }
  }
}
