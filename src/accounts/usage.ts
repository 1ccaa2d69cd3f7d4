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

/** How near to a limit requests are let through one at a time, so that none of several at once goes beyond it. */
const NEAR = 500

/** Counts a delivery that succeeded, and its post the first time one of its deliveries does (shapes.md 2, Usage). */
export async function countSuccess(
  sql: Sql,
  { organisationId, postId }: { organisationId: string; postId: string },
): Promise<void> {
  await sql`
    with counted as (update posts set counted_at = now() where id = ${postId} and counted_at is null returning 1)
    insert into usage (organisation_id, month, shard, posts, deliveries)
    values (${organisationId}, ${thisMonth(sql)}, pg_backend_pid() % 16, (select count(*) from counted), 1)
    on conflict (organisation_id, month, shard) do update
       set posts = usage.posts + excluded.posts, deliveries = usage.deliveries + 1`
}

/** Throws 429 quota_exceeded when the month that `postId` is due in holds more than the plan allows, the post included. Call it last in the
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
  if (bounds.every(({ max }) => max < 0)) return
  const over = (use: MonthUse, margin: number) =>
    bounds.find(({ max, of }) => max >= 0 && use[of] + use.own[of] + margin > max)
  if (!over(await readMonth(tx, organisationId, postId), NEAR)) return

  await tx`select pg_advisory_xact_lock(hashtextextended(${`quota ${organisationId}`}, 0))`
  const use = await readMonth(tx, organisationId, postId)
  const exceeded = over(use, 0)
  if (!exceeded) return
  const { limit, max, of } = exceeded
  throw new AppError(
    'quota_exceeded',
    `The plan allows ${max} ${of} a month; ${use[of]} are used, and this needs ${use.own[of]}.`,
    {
      limit,
      max,
      used: use[of],
      resets_at: use.resetsAt.toISOString(),
    },
  )
}

const thisMonth = (sql: Sql) => sql`date_trunc('month', now() at time zone 'UTC')::date`

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
           jsonb_build_object('posts', 1, 'deliveries', (
             select count(*) from deliveries where post_id = ${postId} and status in ('pending', 'processing'))) as own,
           ends as "resetsAt"
      from counted, span`
  return row
}
