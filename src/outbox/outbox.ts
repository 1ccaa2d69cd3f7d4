import type { Sql } from '../db/client.js'

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

/** One line, leased to the process that took it. */
export interface OutboxLine {
  id: string
  command: DeliveryCommand
  workflow_id: string
  args: DeliveryLine
  /** Milliseconds until the delivery is due, by the database's clock; null when it has no time. */
  due_in_ms: number | null
  tries: number
}

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

/** Takes up to `limit` due lines for `leaseMs`, skipping those another process is taking, and those of a run with an earlier line: a cancel must
 *  not overtake its start. */
export async function takeLines(
  sql: Sql,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<OutboxLine[]> {
  return sql<OutboxLine[]>`
    update outbox set tries = tries + 1, next_try_at = now() + ${leaseMs} * interval '1 millisecond'
     where id in (
       select o.id from outbox o
        where o.next_try_at <= now()
          and not exists (select from outbox e where e.workflow_id = o.workflow_id and e.id < o.id)
        order by o.next_try_at, o.id limit ${limit} for update of o skip locked)
    returning id, command, workflow_id, args, tries,
              (extract(epoch from (args ->> 'dueAt')::timestamptz - now()) * 1000)::float8 as due_in_ms`
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
