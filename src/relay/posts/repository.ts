import type { Caller } from '../../accounts/schema.js'
import type { Json, Sql, Transaction } from '../../db/client.js'
import { page, type Page, type PageQuery } from '../../db/page.js'
import { ERRORS, notFound, type ErrorCode } from '../../errors.js'
import { toLocal } from '../../time-zones.js'
import { together } from '../../together.js'
import { recordDeliveryEvents, recordPostEvent } from '../events/repository.js'
import { findDeliveriesOfPosts } from '../deliveries/repository.js'
import type { Delivery, DeliveryStatus, Warning } from '../deliveries/schema.js'
import type { DueTime } from './due-time.js'
import { rollUp } from './rules.js'
import type { Post, PostStatus } from './schema.js'

interface PostRow extends Pick<
  Post,
  'id' | 'status' | 'content' | 'overrides' | 'external_id' | 'validation' | 'timezone' | 'created_by' | 'warnings'
> {
  scheduled_at: Date | null
  created_at: Date
  updated_at: Date
  settled_at: Date | null
}

/** A post to be written, with what it is aimed at. */
export interface NewPost extends DueTime, Pick<Post, 'id' | 'content' | 'overrides' | 'validation' | 'warnings'> {
  external_id?: string | undefined
  /** The deliveries of a draft are due at no time. */
  draft: boolean
}

/** A delivery to be written with it; one with a `refusal` is rejected at once. */
export interface NewDelivery extends Pick<Delivery, 'id' | 'platform' | 'handle' | 'overrides' | 'warnings'> {
  connectionId: string
  contentHash: Buffer
  refusal: { code: ErrorCode; message: string } | null
}

/** Writes a post and its deliveries. Now is the database's. */
export async function insertPost(
  sql: Sql,
  { organisationId, ...by }: Pick<Caller, 'organisationId' | 'kind' | 'id' | 'name'>,
  post: NewPost,
  deliveries: NewDelivery[],
): Promise<void> {
  const status = post.draft ? 'draft' : post.scheduledAt ? 'scheduled' : 'queued'
  const createdBy = { kind: by.kind, id: by.id, name: by.name }
  const due = post.draft ? null : (post.scheduledAt ?? sql`now()`)
  await sql`
    with post as (
      insert into posts (id, organisation_id, status, external_id, content, overrides, validation, scheduled_at, timezone, warnings, created_by)
      values (${post.id}, ${organisationId}, ${status}, ${post.external_id ?? null}, ${sql.json(post.content)}, ${sql.json(post.overrides as Json)},
              ${post.validation}, ${post.scheduledAt}, ${post.timezone}, ${sql.json(post.warnings)}, ${sql.json(createdBy)})
      returning id)
    insert into deliveries (id, organisation_id, post_id, connection_id, platform, handle, overrides, warnings, content_hash, due_at,
                            status, error_code, error, settled_at)
    select d.id, ${organisationId}, post.id, d.connection_id, d.platform, d.handle, nullif(d.overrides, 'null'), d.warnings,
           decode(d.content_hash, 'hex'), ${due}::timestamptz,
           case when d.error_code is null then 'pending' else 'rejected' end, d.error_code, nullif(d.error, 'null'),
           case when d.error_code is not null then now() end
      from post, jsonb_to_recordset(${sql.json(deliveries.map(toRow) as Json)})
        as d (id text, connection_id text, platform text, handle text, overrides jsonb, warnings jsonb, content_hash text,
              error_code text, error jsonb)`
}

function toRow({ connectionId, contentHash, refusal, ...delivery }: NewDelivery) {
  const error = refusal && {
    message: refusal.message,
    platform_message: null,
    next_step: ERRORS[refusal.code].nextStep,
  }
  const hash = contentHash.toString('hex')
  return { ...delivery, connection_id: connectionId, content_hash: hash, error_code: refusal?.code ?? null, error }
}

const shown = (sql: Sql) => sql`
  id, status, external_id, content, overrides, validation, scheduled_at, timezone, warnings, created_by, created_at, updated_at, settled_at`

function present(row: PostRow, deliveries: Delivery[]): Post {
  const { scheduled_at: at, timezone } = row
  return {
    ...row,
    source: 'api',
    scheduled_at: at?.toISOString() ?? null,
    local_time: at && timezone ? toLocal(at, timezone) : null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    settled_at: row.settled_at?.toISOString() ?? null,
    approval: null,
    deliveries,
    warnings: [...row.warnings, ...deliveries.flatMap(({ warnings }) => warnings)],
  }
}

async function withDeliveries(sql: Sql, rows: PostRow[]): Promise<Post[]> {
  const deliveries = await findDeliveriesOfPosts(
    sql,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => present(row, deliveries.get(row.id) ?? []))
}

/** One post with its deliveries; throws 404 when the organisation has none of that id. */
export async function requirePost(sql: Sql, organisationId: string, id: string): Promise<Post> {
  const [[row], deliveries] = await Promise.all([
    sql<PostRow[]>`select ${shown(sql)} from posts where organisation_id = ${organisationId} and id = ${id}`,
    findDeliveriesOfPosts(sql, [id]),
  ])
  if (!row) throw notFound()
  return present(row, deliveries.get(id) ?? [])
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

/** Adds to what is said of a whole post. */
export async function addWarnings(sql: Sql, id: string, warnings: Warning[]): Promise<void> {
  await sql`update posts set warnings = warnings || ${sql.json(warnings)} where id = ${id}`
}

/** A post as an action finds it, its row locked. */
export interface LockedPost {
  status: PostStatus
  timezone: string | null
}

/** Locks a post, after its deliveries; throws 404 when the organisation has none of that id. */
export async function lockPost(sql: Sql, organisationId: string, id: string): Promise<LockedPost> {
  const [row] = await sql<LockedPost[]>`
    select status, timezone from posts where organisation_id = ${organisationId} and id = ${id} for update`
  if (!row) throw notFound()
  return row
}

/** Makes what of a locked post is pending due at a time, the post then scheduled; or now, the post then queued. One that is being published stays so. */
export async function makeDue(sql: Sql, id: string, { scheduledAt, timezone }: DueTime): Promise<void> {
  const status = scheduledAt ? 'scheduled' : 'queued'
  await sql`
    update deliveries set due_at = coalesce(${scheduledAt}, now()), next_attempt_at = null, waiting_for = null
     where post_id = ${id} and status = 'pending' and parts_taken = 0`
  await sql`
    update posts set status = case when status = 'publishing' then status else ${status} end, scheduled_at = ${scheduledAt},
                     timezone = ${timezone}, updated_at = now()
     where id = ${id}`
  if (!scheduledAt) await tellRefusals(sql, id)
}

/** Takes failed deliveries of a locked post back: pending again, under a new generation. */
export async function requeueDeliveries(sql: Sql, postId: string, ids: string[]): Promise<void> {
  await sql`
    update deliveries
       set status = 'pending', generation = generation + 1, due_at = now(), next_attempt_at = null, waiting_for = null, poked_at = null,
           error_code = null, error = null, settled_at = null
     where id in ${sql(ids)} and status = 'failed'`
  await sql`
    update posts set settled_at = null, updated_at = now(),
                     status = case when exists (select from deliveries where post_id = ${postId} and status = 'processing')
                              then 'publishing' else 'queued' end
     where id = ${postId}`
}

/** Ends a locked post that was never released; nothing is told of it. */
export async function withdrawPost(sql: Sql, id: string): Promise<void> {
  await sql`update posts set status = 'cancelled', settled_at = now(), updated_at = now() where id = ${id}`
}

/** Tells of the targets that were refused at acceptance, once their post is released (shapes.md 2, Roll-up). */
export async function tellRefusals(sql: Sql, postId: string): Promise<void> {
  // The post's row alone is locked: deliveries are locked before it, never after.
  const untold = await sql<{ id: string }[]>`
    with post as (update posts set refusals_told = true where id = ${postId} and not refusals_told returning id)
    select d.id from post join deliveries d on d.post_id = post.id
     where d.status = 'rejected' and d.started_at is null order by d.id`
  await recordDeliveryEvents(
    sql,
    untold.map(({ id }) => id),
  )
}

/** Gives a post the status its deliveries add up to, and tells of it. Call it in the transaction that settled a delivery, after it: the lock on the
 *  post lets the last of several that settle at once see all the others. */
export async function rollUpPost(tx: Transaction, postId: string): Promise<void> {
  // `execute` sends a statement now, so that the next goes behind it without waiting for its answer.
  const [[post], rows] = await together([
    tx<{ refusals_told: boolean }[]>`select refusals_told from posts where id = ${postId} for update`.execute(),
    tx<{ status: DeliveryStatus; started_at: Date | null }[]>`
      select status, started_at from deliveries where post_id = ${postId}`.execute(),
  ])
  const refused = rows.some(({ status, started_at }) => status === 'rejected' && started_at === null)
  if (refused && !post?.refusals_told) await tellRefusals(tx, postId)
  const status = rollUp(rows.map((row) => row.status))
  if (!status) return
  await together([
    tx`update posts set status = ${status}, settled_at = now(), updated_at = now() where id = ${postId}`.execute(),
    status === 'cancelled' || recordPostEvent(tx, `post.${status}`, postId),
  ])
}
