import type { Sql } from '../../db/client.js'
import { page, type Page, type PageQuery } from '../../db/page.js'
import { newId } from '../../ids.js'
import type { WebhookDelivery, WebhookDeliveryStatus } from './schema.js'

type Row = Omit<WebhookDelivery, 'next_attempt_at' | 'created_at'> & { next_attempt_at: Date | null; created_at: Date }

const shown = (sql: Sql) => sql`
  d.id, d.event_id, d.type, d.status, d.created_at,
  case when d.status = 'pending' and d.claimed_until is null then d.due_at end as next_attempt_at,
  coalesce((select jsonb_agg(jsonb_build_object(
       'number', a.number, 'at', to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'duration_ms', a.duration_ms,
       'http_status', a.http_status, 'error', a.error, 'response_excerpt', a.response_excerpt) order by a.number desc)
     from webhook_attempts a where a.delivery_id = d.id), '[]') as attempts`

function present({ next_attempt_at, created_at, ...row }: Row): WebhookDelivery {
  return {
    ...row,
    next_attempt_at: next_attempt_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  }
}

/** What an endpoint was told or is yet to be told, newest first. */
export async function listWebhookDeliveries(
  sql: Sql,
  endpointId: string,
  { status, cursor, limit }: PageQuery & { status?: WebhookDeliveryStatus | undefined },
): Promise<Page<WebhookDelivery>> {
  const rows = await sql<Row[]>`
    select ${shown(sql)} from webhook_deliveries d
     where d.endpoint_id = ${endpointId}
       ${status ? sql`and d.status = ${status}` : sql``}
       ${cursor ? sql`and d.id < ${cursor}` : sql``}
     order by d.id desc limit ${limit + 1}`
  return page(rows.map(present), limit)
}

/** Makes a delivery due now, its schedule beginning anew; one that is under way goes on as it is. Null: the endpoint has none of that id. */
export async function replayWebhookDelivery(sql: Sql, endpointId: string, id: string): Promise<WebhookDelivery | null> {
  await sql`
    update webhook_deliveries
       set status = 'pending', due_at = now(), failures = 0, settled_at = null, claimed_until = null
     where endpoint_id = ${endpointId} and id = ${id} and coalesce(claimed_until < now(), true)`
  const [row] = await sql<Row[]>`
    select ${shown(sql)} from webhook_deliveries d where d.endpoint_id = ${endpointId} and d.id = ${id}`
  return row ? present(row) : null
}

/** Makes what failed or was held since then due again, under the same ids; answers how many. */
export async function requeueSince(sql: Sql, endpointId: string, since: Date): Promise<number> {
  const { count } = await sql`
    update webhook_deliveries
       set status = 'pending', due_at = now(), failures = 0, settled_at = null, claimed_until = null
     where endpoint_id = ${endpointId} and created_at >= ${since} and status in ('failed', 'held')`
  return count
}

/** Writes deliveries for what happened since then and while the endpoint was off the last time; answers how many. An id begins with the time of the
 *  process that made it, whose clock may be an hour wrong. */
export async function addMissed(sql: Sql, endpointId: string, since: Date): Promise<number> {
  const { count } = await sql`
    insert into webhook_deliveries (id, organisation_id, endpoint_id, event_id, type)
    select new_id('whd'), v.organisation_id, e.id, v.id, v.type
      from webhook_endpoints e
      join events v on v.organisation_id = e.organisation_id
       and v.id >= 'evt_' || id_time(greatest(${since}, e.off_from) - interval '1 hour')
       and v.created_at >= greatest(${since}, e.off_from - interval '1 minute') and v.created_at < e.off_until
     where e.id = ${endpointId} and v.type <> 'webhook.test' and (v.type = any (e.events) or '*' = any (e.events))
       and not exists (select from webhook_deliveries d where d.event_id = v.id and d.endpoint_id = e.id)`
  return count
}

/** Writes a test event and its delivery to this endpoint alone, whatever it chose. */
export async function insertTest(
  sql: Sql,
  { organisationId, endpointId }: { organisationId: string; endpointId: string },
): Promise<{ eventId: string; deliveryId: string }> {
  const [eventId, deliveryId] = [newId('evt'), newId('whd')]
  await sql`
    with event as (
      insert into events (id, organisation_id, type, data)
      values (${eventId}, ${organisationId}, 'webhook.test', ${sql.json({ endpoint_id: endpointId })}))
    insert into webhook_deliveries (id, organisation_id, endpoint_id, event_id, type)
    values (${deliveryId}, ${organisationId}, ${endpointId}, ${eventId}, 'webhook.test')`
  return { eventId, deliveryId }
}
