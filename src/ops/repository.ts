import type { Sql } from '../db/client.js'
import { isOverdue } from '../relay/deliveries/rearm.js'

const MINUTE_MS = 60_000

/** What waits, as an operator asks it. */
export interface Queue {
  outbox_lines: number
  /** Of the oldest line; null without one. */
  outbox_oldest_s: number | null
  learned_limits: number
}

/** How many lines wait for Temporal, since when, and how many limits hold. */
export async function readQueue(sql: Sql): Promise<Queue> {
  const [row] = await sql<[Queue]>`
    select (select count(*)::int from outbox) as outbox_lines,
           (select round(extract(epoch from now() - min(created_at)))::int from outbox) as outbox_oldest_s,
           (select count(*)::int from learned_limits where until > now()) as learned_limits`
  return row
}

/** The organisation of a delivery; null when there is no such delivery. */
export async function findOwner(sql: Sql, deliveryId: string): Promise<string | null> {
  const [row] = await sql<{ organisation_id: string }[]>`
    select organisation_id from deliveries where id = ${deliveryId}`
  return row?.organisation_id ?? null
}

/** Deliveries that are not settled, by platform, status and what they wait for. Those of drafts are not due at any time and are left out. */
export async function countUnsettled(
  sql: Sql,
): Promise<{ platform: string; status: string; waiting_for: string | null; count: number; overdue: number }[]> {
  return sql`
    select platform, status, waiting_for ->> 'code' as waiting_for, count(*)::int as count,
           (count(*) filter (where ${isOverdue(sql, MINUTE_MS)}))::int as overdue
      from deliveries d where status in ('pending', 'processing') and due_at is not null
     group by 1, 2, 3 order by 1, 2, 3 nulls first`
}
