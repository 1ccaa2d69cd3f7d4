import type { Sql } from '../../db/client.js'
import { newId } from '../../ids.js'
import { insertEvents } from '../../webhooks/deliveries/fan-out.js'
import type { EventType } from './schema.js'

type PostEvent = Extract<EventType, `post.${string}`>

/** Tells of a post as it is now, with its deliveries (shapes.md 3, Events). Call it in the transaction that made it so, after it. */
export async function recordPostEvent(sql: Sql, type: PostEvent, postId: string): Promise<void> {
  const insert = sql`
    insert into events (id, organisation_id, type, data)
    select ${newId('evt')}, p.organisation_id, ${type},
           jsonb_build_object(
             'post_id', p.id, 'status', p.status, 'external_id', p.external_id,
             'succeeded', count(*) filter (where d.status = 'succeeded'),
             'failed', count(*) filter (where d.status in ('failed', 'rejected')),
             'deliveries', coalesce(jsonb_agg(
                jsonb_build_object('platform', d.platform, 'status', d.status, 'delivery_id', d.id, 'connection_id', d.connection_id)
                || ${outcome(sql)} order by d.id) filter (where d.id is not null), '[]'))
      from posts p left join deliveries d on d.post_id = p.id
     where p.id = ${postId}
     group by p.id`
  await insertEvents(sql, insert)
}

/** Tells of deliveries that succeeded, failed or were rejected; of others there is nothing to tell. */
export async function recordDeliveryEvents(sql: Sql, deliveryIds: string[]): Promise<void> {
  if (deliveryIds.length === 0) return
  const insert = sql`
    insert into events (id, organisation_id, type, data)
    select e.id, d.organisation_id, case d.status when 'succeeded' then 'delivery.succeeded' else 'delivery.failed' end,
           jsonb_build_object('delivery_id', d.id, 'post_id', d.post_id, 'external_id', p.external_id, 'connection_id', d.connection_id,
                              'platform', d.platform, 'status', d.status)
           || ${outcome(sql)} || jsonb_strip_nulls(jsonb_build_object('message', d.error ->> 'message'))
      from unnest(${deliveryIds.map(() => newId('evt'))}::text[], ${deliveryIds}::text[]) as e (id, delivery_id)
      join deliveries d on d.id = e.delivery_id join posts p on p.id = d.post_id
     where d.status in ('succeeded', 'failed', 'rejected')`
  await insertEvents(sql, insert)
}

/** Tells of a connection that was flagged. */
export async function recordConnectionEvent(
  sql: Sql,
  connectionId: string,
  status: 'reauth_required' | 'revoked',
): Promise<void> {
  const insert = sql`
    insert into events (id, organisation_id, type, data)
    select ${newId('evt')}, organisation_id, ${`connection.${status}` satisfies EventType},
           jsonb_build_object('connection_id', id, 'platform', platform, 'handle', handle, 'status', status,
                              'error_code', last_error ->> 'code')
      from connections where id = ${connectionId}`
  await insertEvents(sql, insert)
}

/** The address where it succeeded, the code where it failed, and no key for what there is not. */
const outcome = (sql: Sql) => sql`
  jsonb_strip_nulls(jsonb_build_object(
    'remote_url', case when d.status = 'succeeded' then d.remote_url end,
    'error_code', case when d.status in ('failed', 'rejected') then d.error_code end))`
