import type { Database, Transaction } from '../../db/client.js'
import type { StoredEvent } from './body.js'
import { roomFor } from './rules.js'

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

/** The receiver of what was claimed, its secrets still sealed. */
export interface Receiver {
  organisationId: string
  endpointId: string
  url: string
  sealed: [string, ...string[]]
}

/** What a lane may do now. `waitMs`: until something is due, 0 when something is; null: until it is woken. */
export interface Claim {
  failing: boolean
  waitMs: number | null
  receiver: Receiver | null
  deliveries: ClaimedWebhook[]
}

interface LaneRow {
  organisation_id: string
  url: string
  secret: string
  previous_secret: string | null
  failing: boolean
  proven: boolean
  own: number
  organisation: number
  due_in_ms: number | null
  held_for_ms: number
}

const NOTHING: Claim = { failing: false, waitMs: null, receiver: null, deliveries: [] }

/** Asked again after one to two of these where all places of the organisation are taken. */
const FULL_MS = 500

/** Claims what is due for an endpoint, as many as may be in flight, and opens their attempts; each claim lapses after `leaseMs`, so that what a lost
 *  worker had in hand is sent again under the same id. Nothing is claimed for a failing endpoint unless `failing` was asked for, and the other way about. */
export async function claimWebhooks(
  database: Database,
  endpointId: string,
  { leaseMs, failing }: { leaseMs: number; failing: boolean },
): Promise<Claim> {
  return database.begin(async (tx) => {
    // One lane of an organisation counts and claims at a time, or each of them would find the same places free.
    await tx`
      select pg_advisory_xact_lock(hashtextextended('webhooks ' || organisation_id, 0)) from webhook_endpoints where id = ${endpointId}`
    const lane = await readLane(tx, endpointId)
    if (!lane || lane.due_in_ms === null) return { ...NOTHING, failing: lane?.failing ?? false }
    const waitMs = Math.max(0, Math.ceil(Math.max(lane.due_in_ms, lane.held_for_ms)))
    if (waitMs > 0 || lane.failing !== failing) return { ...NOTHING, failing: lane.failing, waitMs }
    const room = roomFor(lane)
    if (room === 0) return { ...NOTHING, failing, waitMs: Math.ceil(FULL_MS * (1 + Math.random())) }
    const deliveries = await openAttempts(tx, endpointId, { leaseMs, limit: room })
    return { failing, waitMs: 0, receiver: receiverOf(endpointId, lane), deliveries }
  })
}

function receiverOf(endpointId: string, { organisation_id, url, secret, previous_secret }: LaneRow): Receiver {
  const sealed: [string, ...string[]] = previous_secret ? [secret, previous_secret] : [secret]
  return { organisationId: organisation_id, endpointId, url, sealed }
}

async function readLane(tx: Transaction, endpointId: string): Promise<LaneRow | null> {
  const [row] = await tx<LaneRow[]>`
    select e.organisation_id, e.url, e.secret, case when e.previous_secret_expires_at > now() then e.previous_secret end as previous_secret,
           e.failing_since is not null as failing, e.proven and e.failing_since is null as proven, f.own, f.organisation,
           greatest(0, extract(epoch from greatest(e.held_until, e.probe_at) - clock_timestamp()) * 1000)::float8 as held_for_ms,
           (select extract(epoch from min(d.due_at) - clock_timestamp()) * 1000 from webhook_deliveries d
             where d.endpoint_id = e.id and d.status = 'pending')::float8 as due_in_ms
      from webhook_endpoints e,
           lateral (select count(*) filter (where d.endpoint_id = e.id)::int as own, count(*)::int as organisation from webhook_deliveries d
                     where d.organisation_id = e.organisation_id and d.claimed_until > clock_timestamp()) f
     where e.id = ${endpointId} and e.enabled and e.deleted_at is null`
  return row ?? null
}

type OpenedRow = Omit<ClaimedWebhook, 'event' | 'lagMs'> & {
  lag_ms: number
  event_id: string
  type: string
  created_at: Date
  data: Record<string, unknown>
}

/** An attempt that was open is closed: nobody knows how it ended, and it counts for nothing. */
async function openAttempts(
  tx: Transaction,
  endpointId: string,
  { leaseMs, limit }: { leaseMs: number; limit: number },
): Promise<ClaimedWebhook[]> {
  const rows = await tx<OpenedRow[]>`
    with due as (
      select id from webhook_deliveries where endpoint_id = ${endpointId} and status = 'pending' and due_at <= clock_timestamp()
       order by due_at, id limit ${limit} for update skip locked),
    claimed as (
      update webhook_deliveries d
         set attempts = attempts + 1, claimed_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond',
             due_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
        from due where d.id = due.id returning d.id, d.attempts, d.failures, d.event_id),
    opened as (
      insert into webhook_attempts (delivery_id, number, endpoint_id, at) select id, attempts, ${endpointId}, clock_timestamp() from claimed),
    lost as (
      update webhook_attempts a set error = 'The worker was lost; the receiver may have got it.'
        from claimed c where a.delivery_id = c.id and a.number < c.attempts and a.succeeded is null and a.error is null)
    select c.id, c.attempts as number, c.failures, e.id as event_id, e.type, e.created_at, e.data,
           (extract(epoch from clock_timestamp() - e.created_at) * 1000)::float8 as lag_ms
      from claimed c join events e on e.id = c.event_id order by c.id`
  return rows.map(({ id, number, failures, lag_ms, event_id, type, created_at, data }) => ({
    id,
    number,
    failures,
    lagMs: number === 1 ? lag_ms : null,
    event: { id: event_id, type, created_at, data },
  }))
}
