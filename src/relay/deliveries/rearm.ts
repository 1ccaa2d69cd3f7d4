import type { Database, Sql, Transaction } from '../../db/client.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import type { DeliveryRun } from './schema.js'

const BATCH = 500

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

/** Gives one delivery that is not settled a new run, whatever its last one does; answers its generation, null when there is nothing to do. */
export async function rearmOne(tx: Transaction, deliveryId: string): Promise<number | null> {
  const [row] = await tx<{ generation: number }[]>`
    update deliveries set generation = generation + 1, poked_at = null
     where id = ${deliveryId} and status in ('pending', 'processing') and due_at is not null returning generation`
  if (row) await enqueueDeliveries(tx, 'start_delivery', [deliveryId])
  return row?.generation ?? null
}

/** Gives every delivery that is not settled a new run, as when Temporal lost all of them; answers how many. Batch by batch, each a transaction, and
 *  repeatable: a run that was not lost finds itself overtaken. */
export async function rearmAll(database: Database): Promise<number> {
  for (let [rearmed, last] = [0, '']; ;) {
    const ids = await database.begin((tx) => rearmBatch(tx, last))
    rearmed += ids.length
    if (ids.length < BATCH) return rearmed
    last = ids.at(-1) ?? last
  }
}

async function rearmBatch(tx: Transaction, after: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    update deliveries set generation = generation + 1, poked_at = null
     where id in (select id from deliveries
                   where id > ${after} and status in ('pending', 'processing') and due_at is not null
                   order by id limit ${BATCH} for update)
    returning id`
  const ids = rows.map(({ id }) => id).sort()
  if (ids.length > 0) await enqueueDeliveries(tx, 'start_delivery', ids)
  return ids
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
