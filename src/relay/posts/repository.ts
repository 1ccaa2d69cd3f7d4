import type { Sql } from '../../db/client.js'
import { page, type Page, type PageQuery } from '../../db/page.js'
import { findDeliveriesOfPosts } from '../deliveries/repository.js'
import type { Delivery, DeliveryStatus, Warning } from '../deliveries/schema.js'
import { rollUp } from './rules.js'
import type { Content, Post, PostStatus } from './schema.js'

interface PostRow extends Pick<Post, 'id' | 'status' | 'content' | 'external_id' | 'validation' | 'created_by'> {
  scheduled_at: Date | null
  created_at: Date
  updated_at: Date
  settled_at: Date | null
}

/** A post to be written, with what it is aimed at. */
export interface NewPost {
  id: string
  content: Content
  validation: Post['validation']
  externalId: string | null
  /** Its deliveries are due at `scheduledAt`, or now; those of a draft at no time. */
  draft: boolean
  scheduledAt: Date | null
  createdBy: Post['created_by']
}

/** A delivery to be written with it. */
export interface NewDelivery {
  id: string
  connectionId: string
  platform: string
  handle: string
  warnings: Warning[]
}

/** Writes a post and its deliveries. Now is the database's. */
export async function insertPost(
  sql: Sql,
  organisationId: string,
  post: NewPost,
  deliveries: NewDelivery[],
): Promise<void> {
  const status = post.draft ? 'draft' : post.scheduledAt ? 'scheduled' : 'queued'
  await sql`
    insert into posts (id, organisation_id, status, external_id, content, validation, scheduled_at, created_by)
    values (${post.id}, ${organisationId}, ${status}, ${post.externalId}, ${sql.json(post.content)}, ${post.validation},
            ${post.scheduledAt}, ${sql.json(post.createdBy)})`
  const due = post.draft ? null : (post.scheduledAt ?? sql`now()`)
  await sql`
    insert into deliveries (id, organisation_id, post_id, connection_id, platform, handle, warnings, due_at)
    select d.id, ${organisationId}, ${post.id}, d."connectionId", d.platform, d.handle, d.warnings, ${due}::timestamptz
      from jsonb_to_recordset(${sql.json(deliveries.map((delivery) => ({ ...delivery })))})
        as d (id text, "connectionId" text, platform text, handle text, warnings jsonb)`
}

const shown = (sql: Sql) => sql`
  id, status, external_id, content, validation, scheduled_at, created_by, created_at, updated_at, settled_at`

function present(row: PostRow, deliveries: Delivery[]): Post {
  return {
    ...row,
    source: 'api',
    overrides: {},
    scheduled_at: row.scheduled_at?.toISOString() ?? null,
    timezone: null,
    local_time: null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    settled_at: row.settled_at?.toISOString() ?? null,
    approval: null,
    deliveries,
    warnings: deliveries.flatMap(({ warnings }) => warnings),
  }
}

async function withDeliveries(sql: Sql, rows: PostRow[]): Promise<Post[]> {
  const deliveries = await findDeliveriesOfPosts(
    sql,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => present(row, deliveries.get(row.id) ?? []))
}

/** One post with its deliveries; null when the organisation has none of that id. */
export async function findPost(sql: Sql, organisationId: string, id: string): Promise<Post | null> {
  const rows = await sql<
    PostRow[]
  >`select ${shown(sql)} from posts where organisation_id = ${organisationId} and id = ${id}`
  const [post] = await withDeliveries(sql, rows)
  return post ?? null
}

/** Newest first, with their deliveries. */
export async function listPosts(
  sql: Sql,
  organisationId: string,
  {
    status,
    external_id,
    cursor,
    limit,
  }: PageQuery & { status?: PostStatus[] | undefined; external_id?: string | undefined },
): Promise<Page<Post>> {
  const rows = await sql<PostRow[]>`
    select ${shown(sql)} from posts
     where organisation_id = ${organisationId}
       ${status ? sql`and status in ${sql(status)}` : sql``}
       ${external_id ? sql`and external_id = ${external_id}` : sql``}
       ${cursor ? sql`and id < ${cursor}` : sql``}
     order by id desc
     limit ${limit + 1}`
  const read = page(rows, limit)
  return { rows: await withDeliveries(sql, read.rows), nextCursor: read.nextCursor }
}

/** Locks a post, after its deliveries; answers its status, null when the organisation has none of that id. */
export async function lockPost(sql: Sql, organisationId: string, id: string): Promise<PostStatus | null> {
  const [row] = await sql<{ status: PostStatus }[]>`
    select status from posts where organisation_id = ${organisationId} and id = ${id} for update`
  return row?.status ?? null
}

/** Makes what of a locked post is pending due now. */
export async function releasePost(sql: Sql, id: string): Promise<void> {
  await sql`update deliveries set due_at = now() where post_id = ${id} and status = 'pending'`
  await sql`update posts set status = 'queued', scheduled_at = null, updated_at = now() where id = ${id}`
}

/** Makes what of a locked post is pending due at a time. */
export async function schedulePending(sql: Sql, id: string, due: Date): Promise<void> {
  await sql`update deliveries set due_at = ${due} where post_id = ${id} and status = 'pending'`
  await sql`
    update posts set status = case when status = 'publishing' then status else 'scheduled' end, scheduled_at = ${due}, updated_at = now()
     where id = ${id}`
}

/** Takes failed deliveries of a locked post back: pending again, under a new generation. */
export async function requeueDeliveries(sql: Sql, postId: string, ids: string[]): Promise<void> {
  await sql`
    update deliveries
       set status = 'pending', generation = generation + 1, due_at = now(), next_attempt_at = null, waiting_for = null, poked_at = null,
           error_code = null, error = null, settled_at = null
     where id in ${sql(ids)} and status = 'failed'`
  await sql`update posts set status = 'queued', settled_at = null, updated_at = now() where id = ${postId}`
}

/** Gives a post the status its deliveries add up to. Call it in the transaction that settled a delivery, after it: the lock on the post
 *  lets the last of several that settle at once see all the others. */
export async function rollUpPost(sql: Sql, postId: string): Promise<void> {
  await sql`select from posts where id = ${postId} for update`
  const rows = await sql<{ status: DeliveryStatus }[]>`select status from deliveries where post_id = ${postId}`
  const status = rollUp(rows.map((row) => row.status))
  if (!status) return
  await sql`update posts set status = ${status}, settled_at = now(), updated_at = now() where id = ${postId}`
}
