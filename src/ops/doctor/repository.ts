import type { Sql } from '../../db/client.js'
import type { SealedColumn } from '../../encryption.js'
import { isOverdue } from '../../relay/deliveries/rearm.js'

/** Longer than the sweep takes to poke: what is late by that is stuck. */
const LATE_MS = 5 * 60_000
const SHOWN = 20

/** What PostgreSQL says of itself; `clock_off_s` is how far this machine's clock is ahead of its. */
export async function readServer(sql: Sql) {
  const before = Date.now()
  const [row] = await sql<
    [{ version: string; used: number; most: number; now: Date; processes: Record<string, number> }]
  >`
    select current_setting('server_version') as version, current_setting('max_connections')::int as most, clock_timestamp() as now,
           (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
           -- each process has exactly one connection that listens
           (select coalesce(jsonb_object_agg(name, count), '{}')
              from (select application_name as name, count(*)::int as count from pg_stat_activity
                     where datname = current_database() and query ilike 'listen %' group by 1) p) as processes`
  const { now, ...server } = row
  const here = (before + Date.now()) / 2
  return { ...server, clock_off_s: (here - now.getTime()) / 1000 }
}

/** How many values lie sealed under each key-encryption key. */
export async function countSealedUnder(sql: Sql, columns: readonly SealedColumn[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { table, column } of columns) {
    const rows = await sql<{ id: string; count: number }[]>`
      select split_part(${sql(column)}, '.', 2) as id, count(*)::int as count from ${sql(table)}
       where ${sql(column)} is not null group by 1`
    for (const { id, count } of rows) counts.set(id, (counts.get(id) ?? 0) + count)
  }
  return counts
}

/** Lines that have waited a minute, and how many of them nobody has taken. */
export async function readOutbox(sql: Sql) {
  const [row] = await sql<[{ lines: number; untried: number; oldest_s: number; last_error: string | null }]>`
    select count(*)::int as lines, (count(*) filter (where tries = 0))::int as untried,
           coalesce(round(extract(epoch from now() - min(created_at))), 0)::int as oldest_s,
           (array_agg(last_error order by id) filter (where last_error is not null))[1] as last_error
      from outbox where created_at < now() - interval '1 minute'`
  return row
}

/** Deliveries that should have moved long ago, the latest first. */
export async function findLateDeliveries(sql: Sql) {
  return sql<
    {
      id: string
      platform: string
      status: string
      generation: number
      late_s: number
      waiting_for: string | null
      open: number | null
    }[]
  >`
    select id, platform, status, generation, waiting_for ->> 'code' as waiting_for,
           round(extract(epoch from now() - greatest(due_at, next_attempt_at)))::int as late_s,
           (select number from attempts a where a.delivery_id = d.id and a.state in ('intent', 'sent')) as open
      from deliveries d where status in ('pending', 'processing') and ${isOverdue(sql, LATE_MS)}
     order by greatest(due_at, next_attempt_at) limit ${SHOWN}`
}

/** Failed deliveries of the last seven days that may have landed. */
export async function countIndeterminate(sql: Sql): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from deliveries
     where error_code = 'publish_indeterminate' and settled_at > now() - interval '7 days'`
  return row.count
}

/** Posts whose deliveries are all settled but which are not: there should be none. */
export async function findUnrolledPosts(sql: Sql): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from posts p
     where settled_at is null and status in ('scheduled', 'queued', 'publishing')
       and exists (select from deliveries d where d.post_id = p.id)
       and not exists (select from deliveries d where d.post_id = p.id and d.status in ('pending', 'processing'))
     limit ${SHOWN}`
  return rows.map(({ id }) => id)
}

/** Connections that publish nothing until somebody connects them again, by platform. */
export async function countConnections(sql: Sql) {
  return sql<{ platform: string; status: string; count: number }[]>`
    select platform, status, count(*)::int as count from connections
     where deleted_at is null and status in ('reauth_required', 'revoked') group by 1, 2 order by 1, 2`
}

/** Endpoints that are on and asked for no patience, with events long over their time. */
export async function findLateEndpoints(sql: Sql) {
  return sql<{ id: string; pending: number; late_s: number }[]>`
    select e.id, count(*)::int as pending, round(extract(epoch from now() - min(d.due_at)))::int as late_s
      from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id and d.status = 'pending'
     where e.enabled and e.deleted_at is null and coalesce(greatest(e.held_until, e.probe_at), now()) <= now()
     group by e.id having min(d.due_at) < now() - ${LATE_MS} * interval '1 millisecond'
     order by 3 desc limit ${SHOWN}`
}

/** Events kept back for endpoints that are off. */
export async function countHeldWebhooks(sql: Sql): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from webhook_deliveries where status = 'held'`
  return row.count
}

/** What the sweep should have taken care of long ago. */
export async function readLeftovers(sql: Sql) {
  const [row] = await sql<[{ files: number; audit: number }]>`
    select (select count(*)::int from loose_blobs where doomed_at < now() - interval '1 hour') as files,
           (select count(*)::int from audit_log where seq is null and at < now() - interval '10 minutes') as audit`
  return row
}

/** Transactions that were left open for longer than this. */
export async function findIdleTransactions(sql: Sql, olderThanMs: number) {
  return sql<{ pid: number; name: string; minutes: number }[]>`
    select pid, application_name as name, floor(extract(epoch from now() - xact_start) / 60)::int as minutes
      from pg_stat_activity
     where datname = current_database() and state = 'idle in transaction'
       and xact_start < now() - ${olderThanMs} * interval '1 millisecond'
     order by xact_start limit ${SHOWN}`
}
