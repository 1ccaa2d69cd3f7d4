import type { Sql } from '../db/client.js'
import { laneArguments } from './lane-line.js'

/** What the relay loop can carry out for a delivery. */
export type DeliveryCommand = 'start_delivery' | 'poke_delivery' | 'cancel_delivery'

/** What a command needs, and no more: ids, and what an operator may see of a run. It becomes part of no history but as the ids of a run. */
export interface DeliveryLine {
  deliveryId: string
  generation: number
  organisationId: string
  postId: string
  connectionId: string
  platform: string
  handle: string
  /** UTC instant. */
  dueAt: string
}

/** What waking the lane of a webhook endpoint needs. */
export interface LaneLine {
  endpointId: string
  organisationId: string
}

interface Line<Command, Args> {
  id: string
  command: Command
  workflow_id: string
  args: Args
  /** Milliseconds until the delivery is due, by the database's clock; null when it has no time. */
  due_in_ms: number | null
  tries: number
}

export type DeliveryOutboxLine = Line<DeliveryCommand, DeliveryLine>
export type LaneOutboxLine = Line<'wake_webhooks', LaneLine>

/** One line, leased to the process that took it. */
export type OutboxLine = DeliveryOutboxLine | LaneOutboxLine

/** Writes what Temporal must do next for these deliveries, in the transaction that decided it, and wakes the relay loops when it commits. */
export async function enqueueDeliveries(sql: Sql, command: DeliveryCommand, deliveryIds: string[]): Promise<void> {
  await sql`
    with lines as (
      insert into outbox (command, workflow_id, args)
      select ${command}, 'delivery/' || id || '/' || generation,
             jsonb_build_object('deliveryId', id, 'generation', generation, 'organisationId', organisation_id, 'postId', post_id,
                                'connectionId', connection_id, 'platform', platform, 'handle', handle,
                                'dueAt', to_char(due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        from deliveries where id in ${sql(deliveryIds)} order by id)
    select pg_notify('outbox', '')`
}

/** Writes that these lanes have something to look at, in the transaction that made it so. */
export async function enqueueLanes(sql: Sql, endpointIds: string[]): Promise<void> {
  await sql`
    with lines as (
      insert into outbox (command, workflow_id, args)
      select 'wake_webhooks', 'webhook/' || id, ${laneArguments(sql, sql`id`)} from webhook_endpoints where id in ${sql(endpointIds)})
    select pg_notify('outbox', '')`
}

/** Takes up to `limit` due lines for `leaseMs`, skipping those another process is taking, and those of a run with an earlier line: a cancel must
 *  not overtake its start. Further lines that wake the same lane go with the one that is taken: it is carried out after all of them were committed, so one
 *  wake does for any number of events. */
export async function takeLines(
  sql: Sql,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<OutboxLine[]> {
  return sql<OutboxLine[]>`
    with taken as (
    update outbox set tries = tries + 1, next_try_at = now() + ${leaseMs} * interval '1 millisecond'
     where id in (
       select o.id from outbox o
        where o.next_try_at <= now()
          and not exists (select from outbox e where e.workflow_id = o.workflow_id and e.id < o.id)
        order by o.next_try_at, o.id limit ${limit} for update of o skip locked)
    returning id, command, workflow_id, args, tries,
              (extract(epoch from (args ->> 'dueAt')::timestamptz - now()) * 1000)::float8 as due_in_ms),
    merged as (
      delete from outbox o using taken t
       where o.workflow_id = t.workflow_id and o.id > t.id and o.command = 'wake_webhooks' and t.command = 'wake_webhooks')
    select * from taken`
}

/** Removes lines that were carried out. */
export async function dropLines(sql: Sql, ids: string[]): Promise<void> {
  await sql`delete from outbox where id in ${sql(ids)}`
}

/** Puts a line that could not be carried out back for later. */
export async function deferLine(sql: Sql, id: string, { error, inMs }: { error: string; inMs: number }): Promise<void> {
  await sql`
    update outbox set last_error = ${error}, next_try_at = now() + ${inMs} * interval '1 millisecond' where id = ${id}`
}
