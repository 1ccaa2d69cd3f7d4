import type { Database, Transaction } from '../../db/client.js'
import { openAttempts, type ClaimedWebhook } from './open-attempts.js'
import { roomFor } from './rules.js'

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
    if (!lane) {
      await holdPending(tx, endpointId)
      return NOTHING
    }
    if (lane.due_in_ms === null) return { ...NOTHING, failing: lane.failing }
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

/** What is pending for an endpoint that is off or deleted: written by whoever had not seen that yet. */
async function holdPending(tx: Transaction, endpointId: string): Promise<void> {
  await tx`
    update webhook_deliveries d set status = case when e.deleted_at is null then 'held' else 'failed' end
      from webhook_endpoints e
     where e.id = ${endpointId} and not e.enabled and d.endpoint_id = e.id and d.status = 'pending'`
}
