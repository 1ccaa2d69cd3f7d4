import type { Database } from '../../db/client.js'
import { enqueueLanes } from '../../outbox/outbox.js'

/** Wakes the lanes of endpoints that have had something due for `overdueMs` and no line that wakes them; answers how many. */
export async function wakeOverdueLanes(database: Database, { overdueMs }: { overdueMs: number }): Promise<number> {
  return database.begin(async (tx) => {
    const overdue = await tx<{ id: string }[]>`
      update webhook_endpoints set poked_at = now()
       where id in (
         select e.id from webhook_endpoints e
          where e.enabled and e.deleted_at is null
            and greatest(e.held_until, e.probe_at, e.poked_at,
                         (select min(d.due_at) from webhook_deliveries d where d.endpoint_id = e.id and d.status = 'pending'))
                < now() - ${overdueMs} * interval '1 millisecond'
            and exists (select from webhook_deliveries d where d.endpoint_id = e.id and d.status = 'pending')
            and not exists (select from outbox o where o.workflow_id = 'webhook/' || e.id)
          order by e.id limit 200 for no key update skip locked)
      returning id`
    const ids = overdue.map(({ id }) => id)
    if (ids.length > 0) await enqueueLanes(tx, ids)
    return ids.length
  })
}

/** Wakes the lane of every endpoint that has something pending, as when Temporal lost them; answers how many. */
export async function wakeEveryLane(database: Database): Promise<number> {
  return database.begin(async (tx) => {
    const rows = await tx<{ id: string }[]>`
      select id from webhook_endpoints e
       where enabled and deleted_at is null
         and exists (select from webhook_deliveries d where d.endpoint_id = e.id and d.status = 'pending')`
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) await enqueueLanes(tx, ids)
    return ids.length
  })
}

/** Removes what is older than 30 days: attempts, and deliveries that are not pending; of deleted endpoints the row too, once nothing of it is left. At
 *  most 1,000 of each at a time. */
export async function dropOldWebhooks(database: Database): Promise<void> {
  await database`
    delete from webhook_attempts where ctid in (
      select ctid from webhook_attempts where at < now() - interval '30 days' limit 1000)`
  await database`
    delete from webhook_deliveries where ctid in (
      select ctid from webhook_deliveries where status <> 'pending' and created_at < now() - interval '30 days' limit 1000)`
  await database`
    delete from webhook_endpoints e where deleted_at < now() - interval '30 days'
       and not exists (select from webhook_deliveries d where d.endpoint_id = e.id)`
}
