import type { Database, Sql } from '../../db/client.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import type { DeliveryRun } from './schema.js'

/** Gives a delivery whose run has closed without settling it a new run: generation + 1 and a start, together. Nothing happens to one
 *  that is settled or was re-armed already; the ledger decides what the new run may do. */
export async function rearmDelivery(database: Database, { deliveryId, generation }: DeliveryRun): Promise<void> {
  await database.begin(async (tx) => {
    const { count } = await tx`
      update deliveries set generation = generation + 1, poked_at = null
       where id = ${deliveryId} and generation = ${generation} and status in ('pending', 'processing')`
    if (count === 1) await enqueueDeliveries(tx, 'start_delivery', [deliveryId])
  })
}

/** Whether an unsettled delivery `d` should have moved so long ago: it is not paused, which a resume ends, and no line of the outbox is about it. */
export const isOverdue = (sql: Sql, overdueMs: number) => sql`
  (greatest(d.due_at, d.next_attempt_at) < now() - ${overdueMs} * interval '1 millisecond'
   and (d.status = 'processing' or not exists (select from paused_platforms p where p.platform = d.platform))
   and not exists (select from outbox o where o.workflow_id = 'delivery/' || d.id || '/' || d.generation))`

/** Pokes what should have moved `overdueMs` ago and has no open outbox line; answers how many. Plain SQL, so it works while Temporal is down. */
export async function pokeOverdue(database: Database, { overdueMs }: { overdueMs: number }): Promise<number> {
  return database.begin(async (tx) => {
    const overdue = await tx<{ id: string }[]>`
      update deliveries set poked_at = now()
       where id in (
         select d.id from deliveries d
          where d.status in ('pending', 'processing') and ${isOverdue(tx, overdueMs)}
            and (d.poked_at is null or d.poked_at < now() - ${overdueMs} * interval '1 millisecond')
          order by d.id limit 200 for update skip locked)
      returning id`
    if (overdue.length > 0)
      await enqueueDeliveries(
        tx,
        'poke_delivery',
        overdue.map(({ id }) => id),
      )
    return overdue.length
  })
}
