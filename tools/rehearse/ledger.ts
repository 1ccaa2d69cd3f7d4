import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from 'postgres'

/** What became of posts, by their texts: as the rows say, and as the destination counted. */
export interface Tally {
  posts: number
  published: number
  /** Texts that the destination never took, or more than once. */
  lost: number
  doubled: number
}

/** Waits until every post whose text begins so is settled, or the time is up, and counts. */
export async function tallyPosts(sql: Sql, prefix: string, withinMs: number): Promise<Tally> {
  const like = `${prefix}%`
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; await sleep(250)) {
    const [row] = await sql<[{ open: number }]>`
      select count(*)::int as open from posts where content ->> 'text' like ${like} and settled_at is null`
    if (row.open === 0) break
  }
  const [tally] = await sql<[Tally]>`
    with wanted as (select content ->> 'text' as text, status from posts where content ->> 'text' like ${like}),
         taken as (select text, count(*) as times from sandbox_requests where text like ${like} and outcome = 'accepted' group by 1)
    select count(*)::int as posts, (count(*) filter (where status = 'published'))::int as published,
           (count(*) filter (where coalesce(times, 0) = 0))::int as lost, (count(*) filter (where times > 1))::int as doubled
      from wanted left join taken using (text)`
  return tally
}
