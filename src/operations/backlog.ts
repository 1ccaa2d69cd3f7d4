import type { Sql } from '../db/client.js'
import { isOverdue } from '../relay/deliveries/rearm.js'

/** How much waits, as rows tell it. */
export interface Backlog {
  /** Lines that Temporal has not carried out yet. */
  lines: number
  oldest_line_seconds: number
  /** Deliveries that are due at some time and not settled, by status. */
  pending: number
  processing: number
  /** Those of them that should have moved `overdueMs` ago. */
  overdue: number
  /** Deliveries to webhook endpoints that are not settled, and endpoints whose breaker is open. */
  webhooks: number
  breakers: number
}

/** Counts in one statement, on the indexes of what is open: its cost grows with the backlog and not with history. */
export async function readBacklog(sql: Sql, { overdueMs }: { overdueMs: number }): Promise<Backlog> {
  const [row] = await sql<[Backlog]>`
    select lines, oldest_line_seconds, pending, processing, overdue, webhooks, breakers
      from (select count(*)::int as lines,
                   coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest_line_seconds from outbox) o,
           (select count(*) filter (where status = 'pending')::int as pending,
                   count(*) filter (where status = 'processing')::int as processing,
                   count(*) filter (where ${isOverdue(sql, overdueMs)})::int as overdue
              from deliveries d where status in ('pending', 'processing') and due_at is not null) d,
           (select count(*)::int as webhooks from webhook_deliveries where status = 'pending') w,
           (select count(*)::int as breakers from webhook_endpoints where probe_at is not null and enabled and deleted_at is null) b`
  return row
}
