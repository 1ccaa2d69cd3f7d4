import type { Transaction } from '../../db/client.js'
import type { StoredEvent } from './body.js'

/** A delivery that was claimed, with its open attempt. */
export interface ClaimedWebhook {
  id: string
  /** Of the attempt. */
  number: number
  /** Failures that count toward the schedule. */
  failures: number
  /** From the event to its first attempt; null for a later one. */
  lagMs: number | null
  event: StoredEvent
}

interface OpenedRow {
  id: string
  number: number
  failures: number
  lag_ms: number
  event_id: string
  type: string
  created_at: Date
  data: Record<string, unknown>
}

/** Claims up to `limit` deliveries that are due, the longest first, for `leaseMs`, and opens an attempt of each. An attempt that was open is closed: nobody
 *  knows how it ended, and it counts for nothing. */
export async function openAttempts(
  tx: Transaction,
  endpointId: string,
  { leaseMs, limit }: { leaseMs: number; limit: number },
): Promise<ClaimedWebhook[]> {
  const lapse = tx`clock_timestamp() + ${leaseMs} * interval '1 millisecond'`
  const rows = await tx<OpenedRow[]>`
    with due as (
      select id from webhook_deliveries where endpoint_id = ${endpointId} and status = 'pending' and due_at <= clock_timestamp()
       order by due_at, id limit ${limit} for update skip locked),
    claimed as (
      update webhook_deliveries d set attempts = attempts + 1, claimed_until = ${lapse}, due_at = ${lapse}
        from due where d.id = due.id returning d.id, d.attempts, d.failures, d.event_id),
    opened as (
      insert into webhook_attempts (delivery_id, number, endpoint_id, at)
      select id, attempts, ${endpointId}, clock_timestamp() from claimed),
    lost as (
      update webhook_attempts a set error = 'The worker was lost; the receiver may have got it.'
        from claimed c where a.delivery_id = c.id and a.number < c.attempts and a.succeeded is null and a.error is null)
    select c.id, c.attempts as number, c.failures, e.id as event_id, e.type, e.created_at, e.data,
           (extract(epoch from clock_timestamp() - e.created_at) * 1000)::float8 as lag_ms
      from claimed c join events e on e.id = c.event_id order by c.id`
  return rows.map(toClaimed)
}

function toClaimed({ id, number, failures, lag_ms, event_id, type, created_at, data }: OpenedRow): ClaimedWebhook {
  const event = { id: event_id, type, created_at, data }
  return { id, number, failures, lagMs: number === 1 ? lag_ms : null, event }
}
