import type { Fragment, Sql } from '../../db/client.js'
import { laneArguments } from '../../outbox/lane-line.js'

/** Makes an insert of events (one that returns nothing itself) also write one delivery for each endpoint that chose them, and one line that wakes each of these lanes: a single
 *  statement, so that no event is born without. It costs no statement more where there is no endpoint. */
export async function insertEvents(sql: Sql, insert: Fragment): Promise<void> {
  await sql`
    with told as (${insert} returning id, organisation_id, type),
    due as (
      insert into webhook_deliveries (id, organisation_id, endpoint_id, event_id, type)
      select new_id('whd'), t.organisation_id, e.id, t.id, t.type
        from told t join webhook_endpoints e on e.organisation_id = t.organisation_id
       where e.deleted_at is null and e.enabled and (t.type = any (e.events) or '*' = any (e.events))
      returning organisation_id, endpoint_id),
    lines as (
      insert into outbox (command, workflow_id, args)
      select distinct 'wake_webhooks', 'webhook/' || endpoint_id, ${laneArguments(sql, sql`endpoint_id`)} from due
      returning 1)
    select pg_notify('outbox', '') where exists (select from lines)`
}
