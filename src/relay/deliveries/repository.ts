import { instantText } from '../../db/clock.js'
import type { Sql } from '../../db/client.js'
import { page, type Page, type PageQuery } from '../../db/page.js'
import type { Attempt, Delivery, DeliveryStatus } from './schema.js'

interface DeliveryRow extends Omit<
  Delivery,
  'due_at' | 'next_attempt_at' | 'created_at' | 'started_at' | 'settled_at'
> {
  due_at: Date | null
  next_attempt_at: Date | null
  created_at: Date
  started_at: Date | null
  settled_at: Date | null
}

interface AttemptRow extends Omit<Attempt, 'started_at' | 'sent_at' | 'ended_at'> {
  started_at: Date
  sent_at: Date | null
  ended_at: Date | null
}

const shown = (sql: Sql) => sql`
  d.id, d.post_id, d.connection_id, d.platform, d.handle, d.status, d.due_at, d.remote_id, d.remote_url, d.error_code, d.error,
  (select count(*)::int from attempts a where a.delivery_id = d.id) as attempts,
  d.next_attempt_at, d.waiting_for, d.overrides, d.warnings, d.created_at, d.started_at, d.settled_at`

function present(row: DeliveryRow): Delivery {
  return {
    ...row,
    due_at: row.due_at?.toISOString() ?? null,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    settled_at: row.settled_at?.toISOString() ?? null,
  }
}

/** One delivery; null when the organisation has none of that id. */
export async function findDelivery(sql: Sql, organisationId: string, id: string): Promise<Delivery | null> {
  const [row] = await sql<DeliveryRow[]>`
    select ${shown(sql)} from deliveries d where d.organisation_id = ${organisationId} and d.id = ${id}`
  return row ? present(row) : null
}

/** The ledger of a delivery, newest first; null when the organisation has no such delivery. */
export async function findAttempts(sql: Sql, organisationId: string, deliveryId: string): Promise<Attempt[] | null> {
  if (!(await findDelivery(sql, organisationId, deliveryId))) return null
  const rows = await sql<AttemptRow[]>`
    select number, generation, part, state, started_at, sent_at, ended_at, http_status, error_code, platform_message, remote_id, look_up
      from attempts where delivery_id = ${deliveryId} order by number desc`
  return rows.map((row) => ({
    ...row,
    started_at: row.started_at.toISOString(),
    sent_at: row.sent_at?.toISOString() ?? null,
    ended_at: row.ended_at?.toISOString() ?? null,
  }))
}

/** What deciding about a delivery takes, its row locked. */
export interface LockedDelivery extends Pick<
  Delivery,
  'id' | 'post_id' | 'connection_id' | 'platform' | 'status' | 'error_code'
> {
  due_at: Date | null
  started_at: Date | null
  /** How many of its pieces are out. */
  parts_taken: number
  /** Whether its run waits for something else than its time. */
  waits: boolean
}

const locked = (sql: Sql) =>
  sql`id, post_id, connection_id, platform, status, error_code, due_at, started_at, parts_taken, waiting_for is not null as waits`

/** The deliveries of a post, locked in id order. */
export async function lockDeliveries(sql: Sql, organisationId: string, postId: string): Promise<LockedDelivery[]> {
  return sql<LockedDelivery[]>`
    select ${locked(sql)} from deliveries
     where organisation_id = ${organisationId} and post_id = ${postId} order by id for update`
}

/** One delivery, locked; null when the organisation has none of that id. */
export async function lockDelivery(sql: Sql, organisationId: string, id: string): Promise<LockedDelivery | null> {
  const [row] = await sql<LockedDelivery[]>`
    select ${locked(sql)} from deliveries where organisation_id = ${organisationId} and id = ${id} for update`
  return row ?? null
}

/** What a list of deliveries is narrowed by. */
export interface DeliveryFilter extends PageQuery {
  platform?: string[] | undefined
  status?: DeliveryStatus[] | undefined
  post_id?: string | undefined
  connection_id?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

/** Newest first. Ids sort by time, so the cursor is simply the last id seen. */
export async function listDeliveries(
  sql: Sql,
  organisationId: string,
  filter: DeliveryFilter,
): Promise<Page<Delivery>> {
  const { platform, status, post_id, connection_id, from, to, cursor, limit } = filter
  const rows = await sql<DeliveryRow[]>`
    select ${shown(sql)} from deliveries d
     where d.organisation_id = ${organisationId}
       ${platform ? sql`and d.platform in ${sql(platform)}` : sql``}
       ${status ? sql`and d.status in ${sql(status)}` : sql``}
       ${post_id ? sql`and d.post_id = ${post_id}` : sql``}
       ${connection_id ? sql`and d.connection_id = ${connection_id}` : sql``}
       ${from ? sql`and d.created_at >= ${from}` : sql``}
       ${to ? sql`and d.created_at < ${to}` : sql``}
       ${cursor ? sql`and d.id < ${cursor}` : sql``}
     order by d.id desc
     limit ${limit + 1}`
  return page(rows.map(present), limit)
}

/** The deliveries of these posts, by post, in the order they were made. */
export async function findDeliveriesOfPosts(sql: Sql, postIds: string[]): Promise<Map<string, Delivery[]>> {
  const byPost = new Map<string, Delivery[]>(postIds.map((id) => [id, []]))
  if (postIds.length === 0) return byPost
  const rows = await sql<
    DeliveryRow[]
  >`select ${shown(sql)} from deliveries d where d.post_id in ${sql(postIds)} order by d.id`
  for (const row of rows) byPost.get(row.post_id)?.push(present(row))
  return byPost
}

/** Lets one transaction at a time accept the very same contents for an organisation. */
export async function lockContents(
  sql: Sql,
  organisationId: string,
  targets: { contentHash: Buffer }[],
): Promise<void> {
  const keys = [...new Set(targets.map(({ contentHash }) => `${organisationId} ${contentHash.toString('hex')}`))].sort()
  await sql`
    select pg_advisory_xact_lock(hashtextextended(key, 0)) from (select unnest(${keys}::text[]) as key order by 1) keys`
}

/** Writes down that somebody looked and what may have landed is not there, so that it may be sent again. */
export async function believeAbsent(sql: Sql, deliveryId: string): Promise<void> {
  await sql`
    update attempts set look_up = jsonb_build_object('result', 'absent', 'at', ${instantText(sql)})
     where delivery_id = ${deliveryId} and state = 'unknown' and look_up is null`
}

/** A delivery of a post that is out or on its way, and was made within 24 hours. */
export interface RecentlyAimed {
  postId: string
  connectionId: string
  platform: string
}

/** Which of these connections got, or are to get, the very same content from another post of the last 24 hours; the newest of each. */
export async function findRecentlyAimed(
  sql: Sql,
  { organisationId, postId }: { organisationId: string; postId: string | null },
  targets: { id: string; contentHash: Buffer }[],
): Promise<RecentlyAimed[]> {
  return sql<RecentlyAimed[]>`
    select recent.post_id as "postId", t.id as "connectionId", recent.platform
      from unnest(${targets.map(({ id }) => id)}::text[], ${targets.map(({ contentHash }) => contentHash.toString('hex'))}::text[]) as t (id, hash)
     cross join lateral (
       select d.post_id, d.platform from deliveries d
        where d.connection_id = t.id and d.content_hash = decode(t.hash, 'hex') and d.created_at > now() - interval '24 hours'
          and d.organisation_id = ${organisationId} and d.post_id is distinct from ${postId} and d.due_at is not null
          and (d.status in ('pending', 'processing', 'succeeded') or d.error_code = 'publish_indeterminate')
        order by d.created_at desc limit 1) recent`
}

/** Cancels what is still pending of a post or for a connection, locked in id order; answers which. The row decides: a delivery that was claimed
 *  meanwhile is not among them. */
export async function cancelPending(
  sql: Sql,
  organisationId: string,
  of: { postId: string } | { connectionId: string },
): Promise<{ id: string; post_id: string }[]> {
  const meant = 'postId' in of ? sql`post_id = ${of.postId}` : sql`connection_id = ${of.connectionId}`
  return sql<{ id: string; post_id: string }[]>`
    update deliveries set status = 'cancelled', settled_at = now(), next_attempt_at = null, waiting_for = null
     where id in (select id from deliveries
                   where organisation_id = ${organisationId} and ${meant} and status = 'pending' order by id for update)
       and status = 'pending'
    returning id, post_id`
}
