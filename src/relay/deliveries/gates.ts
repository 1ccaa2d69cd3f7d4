import { instantIn } from '../../db/clock.js'
import type { Sql } from '../../db/client.js'
import { waitingFor, type RunView } from './ledger.js'
import type { Publisher, PublishStep } from './publisher.js'
import type { DeliveryRun } from './schema.js'

/** What holds a delivery back before it is claimed. */
export interface Gates {
  /** Why its platform is paused; null when it is not. */
  paused: string | null
  /** For how long its account may not be called; null when it may be. */
  limited_ms: number | null
}

const LONGEST_SPREAD_MS = 60_000

/** The gates of a delivery `d` as one jsonb column. */
export const gatesColumn = (sql: Sql) => sql`
  jsonb_build_object(
    'paused', (select reason from paused_platforms where platform = d.platform),
    'limited_ms', (select extract(epoch from max(until) - now()) * 1000 from learned_limits
                    where scope in (d.connection_id, 'app/' || d.platform) and until > now()))`

/** Says in the row what a due delivery waits for, and how the run is to wait. Null: nothing is in the way, as far as was read; the claim decides. */
export async function waitAtGate(publisher: Publisher, run: DeliveryRun, view: RunView): Promise<PublishStep | null> {
  const { paused, limited_ms } = view.gates
  if (paused !== null && (await notePaused(publisher.database, run, paused)))
    return { kind: 'wait', waitMs: around(publisher.gates.pauseWaitMs) }
  if (limited_ms === null) return null
  // Never before the limit lifts, and not all at once after it.
  const inMs = limited_ms + Math.random() * Math.min(limited_ms / 10, LONGEST_SPREAD_MS)
  const held = await noteLimited(publisher.database, run, { platform: view.platform, inMs })
  return held ? { kind: 'retry', inMs, code: 'rate_limited' } : null
}

/** Runs what calls the platform in one of its slots; with none free, nothing is written and the run comes back. */
export async function withSlot<T>(
  { slots, platforms }: Publisher,
  { id, platform }: RunView,
  call: () => Promise<T>,
): Promise<T | PublishStep> {
  const slot = slots.take(id, platform, platforms.get(platform)?.concurrency)
  if (!slot.release) return { kind: 'retry', inMs: slot.inMs, code: null, why: `${platform} has no slot free` }
  try {
    return await call()
  } finally {
    slot.release()
  }
}

/** False when the pause was lifted meanwhile or the delivery is not this run's to hold any more. Who lifts a pause waits for this to commit,
 *  and so finds everybody it must wake. */
async function notePaused(sql: Sql, { deliveryId, generation }: DeliveryRun, reason: string): Promise<boolean> {
  const { count } = await sql`
    update deliveries set waiting_for = ${sql.json({ code: 'publishing_paused', reason, until: null })}
     where id = ${deliveryId} and generation = ${generation} and status = 'pending' and not platform_open(platform)`
  return count === 1
}

/** False when the delivery is not this run's to hold any more. */
async function noteLimited(
  sql: Sql,
  { deliveryId, generation }: DeliveryRun,
  { platform, inMs }: { platform: string; inMs: number },
): Promise<boolean> {
  const reason = `${platform} takes nothing more of this account until its rate limit is renewed.`
  const { count } = await sql`
    update deliveries
       set waiting_for = ${waitingFor(sql, { inMs, code: 'rate_limited', reason })}, next_attempt_at = ${instantIn(sql, inMs)}
     where id = ${deliveryId} and generation = ${generation} and status = 'pending'`
  return count === 1
}

/** A fifth more or less, so that those who wait do not come back together. */
function around(ms: number): number {
  return Math.round(ms * (0.8 + 0.4 * Math.random()))
}
