import type { Sql } from '../db/client.js'
import { AppError } from '../errors.js'
import type { Limits } from './plans.js'

/** What a month holds beside one post: what was counted, and what is accepted and may yet count; and what the post would add. */
interface MonthUse {
  posts: number
  deliveries: number
  own: { posts: number; deliveries: number }
  resetsAt: Date
}

/** So near to a limit requests are let through one at a time, as those that are not committed yet cannot be seen. */
const NEAR = 500

/** A row of its own for each of this many connections, so that they seldom wait for each other. */
const shard = (sql: Sql) => sql`pg_backend_pid() % 64`

/** Counts a delivery that succeeded, and its post the first time one of its deliveries does (shapes.md 2, Usage). */
export async function countSuccess(
  sql: Sql,
  { organisationId, postId }: { organisationId: string; postId: string },
): Promise<void> {
  await sql`
    with counted as (update posts set counted_at = now() where id = ${postId} and counted_at is null returning 1),
    -- what was accepted as due in another month was not expected in this one
    late as (select date_trunc('month', coalesce(scheduled_at, created_at) at time zone 'UTC')::date <> ${thisMonth(sql)} as late
               from posts where id = ${postId}),
    mine as (select (select count(*)::int from counted) as posts, 1 as deliveries, late::int as late from late)
    insert into usage (organisation_id, month, shard, posts, deliveries, accepted_posts, accepted_deliveries)
    select ${organisationId}, ${thisMonth(sql)}, ${shard(sql)}, posts, deliveries, late * posts, late * deliveries from mine
    on conflict (organisation_id, month, shard) do update
       set posts = usage.posts + excluded.posts, deliveries = usage.deliveries + excluded.deliveries,
           accepted_posts = usage.accepted_posts + excluded.accepted_posts,
           accepted_deliveries = usage.accepted_deliveries + excluded.accepted_deliveries`
}

/** Throws 429 quota_exceeded when the month that a post is due in holds more than the plan allows, the post included. Call it last in the
 *  transaction that accepted, scheduled or released the post. */
export async function requireQuota(
  tx: Sql,
  { organisationId, limits }: { organisationId: string; limits: Limits },
  postId: string,
): Promise<void> {
  const bounds = [
    { limit: 'posts_per_month', max: limits.posts_per_month, of: 'posts' },
    { limit: 'deliveries_per_month', max: limits.deliveries_per_month, of: 'deliveries' },
  ] as const
  const accepted = await noteAccepted(tx, organisationId, postId)
  const margin = Math.max(NEAR, 20 * accepted.own)
  if (bounds.every(({ max, of }) => max < 0 || accepted[of] + margin <= max)) return

  // Something of it may have failed, been cancelled or moved: one request at a time counts what is so.
  await lockQuota(tx, organisationId)
  const use = await readMonth(tx, organisationId, postId)
  const exceeded = bounds.find(({ max, of }) => max >= 0 && use[of] + use.own[of] > max)
  if (!exceeded) return
  const { limit, max, of } = exceeded
  const message = `The plan allows ${max} ${of} a month; ${use[of]} are used, and this needs ${use.own[of]}.`
  throw new AppError('quota_exceeded', message, { limit, max, used: use[of], resets_at: use.resetsAt.toISOString() })
}

/** Lets the organisation's requests that are near a limit through one at a time, until the transaction ends. */
export async function lockQuota(tx: Sql, organisationId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`quota ${organisationId}`}, 0))`
}

/** What an organisation used this month, and when the month began and ends. */
export async function readUsage(
  sql: Sql,
  organisationId: string,
): Promise<{ posts: number; deliveries: number; start: Date; end: Date }> {
  const [row] = await sql<[{ posts: number; deliveries: number; start: Date; end: Date }]>`
    select coalesce(sum(posts), 0)::int as posts, coalesce(sum(deliveries), 0)::int as deliveries,
           m at time zone 'UTC' as start, (m + interval '1 month') at time zone 'UTC' as end
      from date_trunc('month', now() at time zone 'UTC') as m
      left join usage on organisation_id = ${organisationId} and month = m::date
     group by m`
  return row
}

const thisMonth = (sql: Sql) => sql`date_trunc('month', now() at time zone 'UTC')::date`

/** Adds a post with its pending deliveries to what was accepted as due in its month; answers how much that is. */
async function noteAccepted(
  tx: Sql,
  organisationId: string,
  postId: string,
): Promise<{ posts: number; deliveries: number; own: number }> {
  const [row] = await tx<[{ posts: number; deliveries: number; own: number }]>`
    with due as (
      select date_trunc('month', coalesce(scheduled_at, now()) at time zone 'UTC')::date as month, ${shard(tx)} as shard,
             (select count(*)::int from deliveries where post_id = ${postId} and status in ('pending', 'processing')) as deliveries
        from posts where id = ${postId}),
    mine as (
      insert into usage (organisation_id, month, shard, accepted_posts, accepted_deliveries)
      select ${organisationId}, month, shard, 1, deliveries from due
      on conflict (organisation_id, month, shard) do update
         set accepted_posts = usage.accepted_posts + 1, accepted_deliveries = usage.accepted_deliveries + excluded.accepted_deliveries
      returning accepted_posts, accepted_deliveries)
    select (mine.accepted_posts + coalesce(sum(u.accepted_posts), 0))::int as posts,
           (mine.accepted_deliveries + coalesce(sum(u.accepted_deliveries), 0))::int as deliveries,
           due.deliveries as own
      from mine cross join due
      left join usage u on u.organisation_id = ${organisationId} and u.month = due.month and u.shard <> due.shard
     group by mine.accepted_posts, mine.accepted_deliveries, due.deliveries`
  return row
}

/** What the month of a post holds, counted row by row. */
async function readMonth(sql: Sql, organisationId: string, postId: string): Promise<MonthUse> {
  const [row] = await sql<[MonthUse]>`
    with due as (select date_trunc('month', coalesce(scheduled_at, now()) at time zone 'UTC') as month from posts where id = ${postId}),
    span as (select month at time zone 'UTC' as starts, (month + interval '1 month') at time zone 'UTC' as ends from due),
    counted as (
      select coalesce(sum(posts), 0)::int as posts, coalesce(sum(deliveries), 0)::int as deliveries
        from usage where organisation_id = ${organisationId} and month = (select month::date from due))
    select counted.posts + (
             select count(*)::int from posts, span
              where organisation_id = ${organisationId} and settled_at is null and status <> 'draft' and counted_at is null and id <> ${postId}
                and coalesce(scheduled_at, created_at) >= starts and coalesce(scheduled_at, created_at) < ends) as posts,
           counted.deliveries + (
             select count(*)::int from deliveries, span
              where organisation_id = ${organisationId} and status in ('pending', 'processing') and due_at >= starts and due_at < ends
                and post_id <> ${postId}) as deliveries,
           jsonb_build_object('posts', (select count(*) from posts where id = ${postId} and counted_at is null), 'deliveries', (
             select count(*) from deliveries where post_id = ${postId} and status in ('pending', 'processing'))) as own,
           ends as "resetsAt"
      from counted, span`
  return row
}
