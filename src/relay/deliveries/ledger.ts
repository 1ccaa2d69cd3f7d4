import { instantIn, instantText } from '../../db/clock.js'
import type { Database, Sql, Transaction } from '../../db/client.js'
import { ERRORS, type ErrorCode } from '../../errors.js'
import { countSuccess } from '../../accounts/usage.js'
import { together } from '../../together.js'
import { recordDeliveryEvents } from '../events/repository.js'
import type { Content, Override } from '../posts/content.js'
import { flagConnection } from '../connections/repository.js'
import { rollUpPost } from '../posts/repository.js'
import type { Limits, Published } from '../platforms/platform.js'
import { gatesColumn, type Gates } from './gates.js'
import { postMediaColumn, type PostMedia } from '../media/assets.js'
import type { AttemptState, DeliveryRun, DeliveryStatus, Warning } from './schema.js'

/** A piece of a delivery that was begun: its client key, and what the platform made of it. */
export interface Part {
  number: number
  clientKey: string
  /** Null until the platform took it. */
  published: Published | null
  /** Milliseconds since the first attempt at it of which nobody could say whether it landed; null when there is none. */
  unprovedMs: number | null
}

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
  validation: 'strict' | 'lenient'
  warnings: Warning[]
  media: PostMedia[]
  /** Of the post for this platform, and of the target. */
  overrides: (Override | null)[]
  connection: { id: string; status: string; credentials: string | null; limits: Limits }
  /** In order, as far as they were begun. */
  parts: Part[]
  /** The attempt a crash, or a wait for its look-up, left open. */
  open: {
    number: number
    part: number
    state: 'intent' | 'sent'
    sent_ms_ago: number | null
    met: Met | null
  } | null
  /** The codes of this generation's closed attempts at the piece that is next. */
  past_codes: (string | null)[]
  gates: Gates
}

/** Reads a delivery for one of its runs; null when the run is overtaken or there is no such delivery. */
export async function readRun(sql: Sql, { deliveryId, generation }: DeliveryRun): Promise<RunView | null> {
  const [row] = await sql<RunView[]>`
    select d.id, d.organisation_id, d.post_id, d.platform, d.status, d.generation,
           ceil(extract(epoch from greatest(d.due_at, d.next_attempt_at) - now()) * 1000)::float8 as early_ms,
           p.validation, d.warnings, ${postMediaColumn(sql)} as media,
           p.content, jsonb_build_array(p.overrides -> d.platform, d.overrides) as overrides,
           jsonb_build_object('id', d.connection_id, 'status', coalesce(c.status, 'revoked'), 'credentials', c.credentials,
                              'limits', coalesce(c.limits, '{}')) as connection,
           (select coalesce(jsonb_agg(jsonb_build_object(
                     'number', number, 'clientKey', client_key,
                     'unprovedMs', (select extract(epoch from now() - min(u.sent_at)) * 1000 from attempts u
                                     where u.delivery_id = d.id and u.part = delivery_parts.number
                                       and u.state = 'unknown' and u.look_up is null),
                     'published', case when accepted_at is not null then
                                    jsonb_build_object('remoteId', remote_id, 'remoteUrl', remote_url, 'reference', reference) end)
                     order by number), '[]')
              from delivery_parts where delivery_id = d.id) as parts,
           (select jsonb_build_object('number', a.number, 'part', a.part, 'state', a.state,
                                      'sent_ms_ago', extract(epoch from now() - a.sent_at) * 1000,
                                      'met', case when a.error_code is not null then
                                               jsonb_build_object('code', a.error_code, 'httpStatus', a.http_status,
                                                                  'platformMessage', a.platform_message) end)
              from attempts a where a.delivery_id = d.id and a.state in ('intent', 'sent')) as open,
           array(select error_code from attempts a
                  where a.delivery_id = d.id and a.generation = d.generation and a.part = d.parts_taken and a.ended_at is not null
                  order by number) as past_codes,
           ${gatesColumn(sql)} as gates
      from deliveries d join posts p on p.id = d.post_id left join connections c on c.id = d.connection_id
     where d.id = ${deliveryId} and d.generation = ${generation}`
  return row ?? null
}

/** Takes a due delivery and opens its attempt (`intent`) at a piece, with the piece's client key, in one statement; a key that was chosen before stays.
 *  Null: cancelled, moved, overtaken or paused. */
export async function claimDelivery(
  sql: Sql,
  { deliveryId, generation }: DeliveryRun,
  { number, clientKey }: Pick<Part, 'number' | 'clientKey'>,
): Promise<{ attempt: number; clientKey: string } | null> {
  const [claim] = await sql<{ attempt: number; clientKey: string }[]>`
    with delivery as (
      update deliveries
         set status = 'processing', started_at = coalesce(started_at, now()), next_attempt_at = null, waiting_for = null
       where id = ${deliveryId} and generation = ${generation} and status = 'pending' and parts_taken = ${number}
         and greatest(due_at, next_attempt_at) <= now() and platform_open(platform)
      returning id, post_id, generation),
    post as (
      update posts set status = 'publishing', updated_at = now()
       where id = (select post_id from delivery) and status in ('scheduled', 'queued')),
    part as (
      insert into delivery_parts (delivery_id, number, client_key) select id, ${number}, ${clientKey} from delivery
      on conflict (delivery_id, number) do update set number = excluded.number
      returning client_key)
    insert into attempts (delivery_id, number, generation, part, state)
    select id, (select coalesce(max(number), 0) + 1 from attempts where delivery_id = ${deliveryId}), generation, ${number}, 'intent' from delivery
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
  /** The platform took a piece: the last one, or `more` are to come. */
  | { kind: 'taken'; part: number; published: Published; more: boolean }
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
  await sql`
    update deliveries set next_attempt_at = ${instantIn(sql, inMs)}, waiting_for = ${waitingFor(sql, { inMs, code, reason })}
     where id = ${deliveryId} and status = 'processing'`
  await sql`
    update attempts set error_code = ${met.code}, http_status = ${met.httpStatus}, platform_message = ${met.platformMessage}
     where delivery_id = ${deliveryId} and state = 'sent'`
}

/** What a delivery waits for, as its row says it. */
export const waitingFor = (
  sql: Sql,
  { inMs, code, reason }: { inMs: number; code: ErrorCode; reason: string | null },
) => sql`
  jsonb_build_object('code', ${code}::text, 'reason', ${reason ?? ''}::text, 'until', ${instantText(sql, inMs)})`

/** Writes attempt, delivery, piece, post, connection, events and usage together. False: the attempt was closed by another, whose word stands. */
export async function recordOutcome(
  database: Database,
  attempt: { deliveryId: string; number: number },
  end: AttemptEnd,
  delivery: DeliveryEnd,
): Promise<boolean> {
  return database.begin(async (tx) => {
    const closed = await closeAttempt(tx, attempt, end, delivery)
    if (!closed) return false
    if (delivery.kind === 'settled' && delivery.flag) {
      const { flag: status, code, message, connection } = delivery
      await flagConnection(tx, connection.id, { status, code, message, used: connection.credentials })
    }
    if (closed.post_id && isFinal(delivery)) await settlePost(tx, attempt.deliveryId, { ...closed, delivery })
    return true
  })
}

const isFinal = (delivery: DeliveryEnd) => delivery.kind === 'settled' || (delivery.kind === 'taken' && !delivery.more)

async function settlePost(
  tx: Transaction,
  deliveryId: string,
  { organisation_id: organisationId, post_id: postId, delivery }: Closed & { delivery: DeliveryEnd },
): Promise<void> {
  await together([recordDeliveryEvents(tx, [deliveryId]), rollUpPost(tx, postId)])
  if (delivery.kind === 'taken') await countSuccess(tx, { organisationId, postId })
}

interface Closed {
  organisation_id: string
  post_id: string
}

async function closeAttempt(
  tx: Sql,
  { deliveryId, number }: { deliveryId: string; number: number },
  end: AttemptEnd,
  delivery: DeliveryEnd,
): Promise<Closed | null> {
  const { remoteId = null, remoteUrl = null, reference = null } = delivery.kind === 'taken' ? delivery.published : {}
  const part = delivery.kind === 'taken' ? delivery.part : null
  const lookUp = end.lookUp && tx`jsonb_build_object('result', ${end.lookUp}::text, 'at', ${instantText(tx)})`
  const [closed] = await tx<Closed[]>`
    with attempt as (
      update attempts
         set state = ${end.state}, ended_at = now(), http_status = ${end.httpStatus}, error_code = ${end.code},
             platform_message = ${end.platformMessage}, remote_id = ${remoteId}, look_up = ${lookUp}
       where delivery_id = ${deliveryId} and number = ${number} and state in ('intent', 'sent')
      returning delivery_id),
    piece as (
      update delivery_parts
         set remote_id = ${remoteId}, remote_url = ${remoteUrl}, reference = ${reference === null ? null : tx.json(reference)}, accepted_at = now()
       where delivery_id = (select delivery_id from attempt) and number = ${part})
    update deliveries set ${columnsOf(tx, end, delivery)}
     where id = (select delivery_id from attempt) and status = 'processing'
    returning organisation_id, post_id`
  return closed ?? null
}

function columnsOf(tx: Sql, end: AttemptEnd, delivery: DeliveryEnd) {
  switch (delivery.kind) {
    case 'taken': {
      const { remoteId, remoteUrl } = delivery.published
      const first = delivery.part === 0 ? tx`remote_id = ${remoteId}, remote_url = ${remoteUrl},` : tx``
      const shown = tx`${first} parts_taken = ${delivery.part + 1},`
      return delivery.more
        ? tx`${shown} status = 'pending', next_attempt_at = null, waiting_for = null`
        : tx`${shown} status = 'succeeded', settled_at = now(), next_attempt_at = null, waiting_for = null`
    }
    case 'settled': {
      const { code, message, status } = delivery
      const error = { message, platform_message: end.platformMessage, next_step: ERRORS[code].nextStep }
      return tx`status = ${status}, error_code = ${code}, error = ${tx.json(error)}, settled_at = now(),
                next_attempt_at = null, waiting_for = null`
    }
    case 'waiting': {
      const { inMs, code, reason } = delivery
      const waiting = code && waitingFor(tx, { inMs, code, reason })
      return tx`status = 'pending', next_attempt_at = ${instantIn(tx, inMs)}, waiting_for = ${waiting}`
    }
  }
}
