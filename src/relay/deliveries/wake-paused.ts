import type { Database } from '../../db/client.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'

const BATCH = 500

/** Pokes every delivery that waits for a platform's pause to lift, batch by batch, each a transaction; answers how many. Repeatable: what a crash
 *  left asleep is woken by the next call, or by the sweep. */
export async function wakePaused(database: Database, platform: string): Promise<number> {
  let woken = 0
  for (;;) {
    const ids = await wakeBatch(database, platform)
    woken += ids.length
    if (ids.length < BATCH) return woken
  }
}

async function wakeBatch(database: Database, platform: string): Promise<string[]> {
  return database.begin(async (tx) => {
    const rows = await tx<{ id: string }[]>`
      update deliveries set waiting_for = null
       where id in (select id from deliveries
                     where platform = ${platform} and status = 'pending' and waiting_for ->> 'code' = 'publishing_paused'
                       -- with a time it is the platform's own refusal, which its run waits for by itself
                       and waiting_for ->> 'until' is null
                     order by id limit ${BATCH} for update)
      returning id`
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) await enqueueDeliveries(tx, 'poke_delivery', ids)
    return ids
  })
}
