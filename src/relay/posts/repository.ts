import type { Sql } from '../../db/client.js'
import { findDeliveriesOfPost } from '../deliveries/repository.js'
import type { DeliveryStatus, Warning } from '../deliveries/schema.js'
import { rollUp } from './rules.js'
import type { Content, Post } from './schema.js'

interface PostRow extends Pick<Post, 'id' | 'status' | 'content' | 'validation' | 'created_by'> {
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

/** Writes a post and its deliveries. Without a time they are due now, by the database's clock. */
export async function insertPost(
  sql: Sql,
  organisationId: string,
  post: NewPost,
  deliveries: NewDelivery[],
): Promise<void> {
  await sql`
    insert into posts (id, organisation_id, status, content, validation, scheduled_at, created_by)
    values (${post.id}, ${organisationId}, ${post.scheduledAt ? 'scheduled' : 'queued'}, ${sql.json(post.content)}, ${post.validation},
            ${post.scheduledAt}, ${sql.json(post.createdBy)})`
  await sql`
    insert into deliveries (id, organisation_id, post_id, connection_id, platform, handle, warnings, due_at)
    select d.id, ${organisationId}, ${post.id}, d."connectionId", d.platform, d.handle, d.warnings, coalesce(${post.scheduledAt}::timestamptz, now())
      from jsonb_to_recordset(${sql.json(deliveries.map((delivery) => ({ ...delivery })))})
        as d (id text, "connectionId" text, platform text, handle text, warnings jsonb)`
}

/** One post with its deliveries; null when the organisation has none of that id. */
export async function findPost(sql: Sql, organisationId: string, id: string): Promise<Post | null> {
  const [row] = await sql<PostRow[]>`
    select id, status, content, validation, scheduled_at, created_by, created_at, updated_at, settled_at
      from posts where organisation_id = ${organisationId} and id = ${id}`
  if (!row) return null
  const deliveries = await findDeliveriesOfPost(sql, organisationId, id)
  return {
    id: row.id,
    status: row.status,
    external_id: null,
    source: 'api',
    content: row.content,
    overrides: {},
    validation: row.validation,
    scheduled_at: row.scheduled_at?.toISOString() ?? null,
    timezone: null,
    local_time: null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    settled_at: row.settled_at?.toISOString() ?? null,
    approval: null,
    created_by: row.created_by,
    deliveries,
    warnings: deliveries.flatMap(({ warnings }) => warnings),
  }
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
