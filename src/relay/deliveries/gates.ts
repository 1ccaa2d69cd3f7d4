import type { Sql } from '../../db/client.js'
import type { RunView } from './ledger.js'
import type { Publisher, PublishStep } from './publisher.js'
import type { DeliveryRun } from './schema.js'

/** What holds a delivery back before it is claimed. */
export interface Gates {
  /** Why its platform is paused; null when it is not. */
  paused: string | null
}

/** The gates of a delivery `d` as one jsonb column. */
export const gatesColumn = (sql: Sql) => sql`
  jsonb_build_object('paused', (select reason from paused_platforms where platform = d.platform))`

/** Says in the row what a due delivery waits for, and how the run is to wait. Null: nothing is in the way, as far as was read; the claim decides. */
export async function waitAtGate(publisher: Publisher, run: DeliveryRun, view: RunView): Promise<PublishStep | null> {
  const { paused } = view.gates
  if (paused !== null && (await notePaused(publisher.database, run, paused)))
    return { kind: 'wait', waitMs: around(publisher.gates.pauseWaitMs) }
  return null
}

/** Runs what calls the platform in one of its slots; with none free, nothing is written and the run comes back. */
export async function withSlot<T>(
  { slots, platforms }: Publisher,
  { platform }: RunView,
  call: () => Promise<T>,
): Promise<T | PublishStep> {
  const slot = slots.take(platform, platforms.get(platform)?.concurrency)
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

/** A fifth more or less, so that those who wait do not come back together. */
function around(ms: number): number {
  return Math.round(ms * (0.8 + 0.4 * Math.random()))
}
