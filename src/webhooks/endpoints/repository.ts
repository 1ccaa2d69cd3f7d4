import type { Sql } from '../../db/client.js'
import type { DisabledReason, Endpoint, EndpointChanges } from './schema.js'

type Instant = 'failing_since' | 'disabled_at' | 'previous_secret_expires_at' | 'created_at'
type EndpointRow = Omit<Endpoint, Instant> & { created_at: Date } & Record<Exclude<Instant, 'created_at'>, Date | null>

const shown = (sql: Sql) => sql`
  id, url, events, description, enabled, failing_since, disabled_at, disabled_reason, secret_last4, created_at,
  case when not enabled then 'disabled' when failing_since is not null then 'failing' else 'healthy' end as state,
  case when previous_secret_expires_at > now() then previous_secret_expires_at end as previous_secret_expires_at`

function present(row: EndpointRow): Endpoint {
  return {
    ...row,
    failing_since: row.failing_since?.toISOString() ?? null,
    disabled_at: row.disabled_at?.toISOString() ?? null,
    previous_secret_expires_at: row.previous_secret_expires_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  }
}

/** The organisation's endpoints, newest first. */
export async function listEndpoints(sql: Sql, organisationId: string): Promise<Endpoint[]> {
  const rows = await sql<EndpointRow[]>`
    select ${shown(sql)} from webhook_endpoints
     where organisation_id = ${organisationId} and deleted_at is null order by id desc`
  return rows.map(present)
}

/** Whether the organisation has an endpoint of that id. */
export async function hasEndpoint(sql: Sql, organisationId: string, id: string): Promise<boolean> {
  const rows = await sql`
    select from webhook_endpoints where organisation_id = ${organisationId} and id = ${id} and deleted_at is null`
  return rows.length > 0
}

/** One endpoint, its row locked until the transaction ends, so that what is decided by its state holds; null when the organisation has none of that id. */
export async function lockEndpoint(sql: Sql, organisationId: string, id: string): Promise<Endpoint | null> {
  const [row] = await sql<EndpointRow[]>`
    select ${shown(sql)} from webhook_endpoints
     where organisation_id = ${organisationId} and id = ${id} and deleted_at is null for no key update`
  return row ? present(row) : null
}

/** How many endpoints an organisation has; until the transaction ends nobody else counts or adds any. */
export async function countEndpoints(tx: Sql, organisationId: string): Promise<number> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`webhook endpoints ${organisationId}`}, 0))`
  const [row] = await tx<[{ count: number }]>`
    select count(*)::int as count from webhook_endpoints where organisation_id = ${organisationId} and deleted_at is null`
  return row.count
}

interface NewEndpoint {
  id: string
  url: string
  events: string[]
  description: string | null
  sealed: string
  last4: string
}

/** Keeps a new endpoint with its secret sealed. */
export async function insertEndpoint(sql: Sql, organisationId: string, endpoint: NewEndpoint): Promise<Endpoint> {
  const { id, url, events, description, sealed, last4 } = endpoint
  const [row] = await sql<[EndpointRow]>`
    insert into webhook_endpoints (id, organisation_id, url, events, description, secret, secret_last4)
    values (${id}, ${organisationId}, ${url}, ${events}, ${description}, ${sealed}, ${last4})
    returning ${shown(sql)}`
  return present(row)
}

/** Changes what is given of a locked endpoint. Another address is another receiver, whose health is not known yet. */
export async function updateEndpoint(
  sql: Sql,
  id: string,
  { url, events, description }: Omit<EndpointChanges, 'enabled'>,
): Promise<Endpoint> {
  const moved = url !== undefined
  const [row] = await sql<[EndpointRow]>`
    update webhook_endpoints
       set url = coalesce(${url ?? null}, url), events = coalesce(${events ?? null}, events),
           description = ${description === undefined ? sql`description` : description}
           ${moved ? sql`, ${wellAgain(sql)}` : sql``}
     where id = ${id} returning ${shown(sql)}`
  return present(row)
}

const wellAgain = (sql: Sql) => sql`
  failing_since = null, failed_attempts = 0, well_at = now(), proven = false, held_until = null, probe_at = null, breaker_closed_at = now()`

/** Switches an endpoint on again; nothing of before counts against it. */
export async function enableEndpoint(sql: Sql, id: string): Promise<void> {
  await sql`
    update webhook_endpoints
       set enabled = true, disabled_at = null, disabled_reason = null, off_until = now(), ${wellAgain(sql)}
     where id = ${id} and not enabled`
}

/** Switches an endpoint off and holds what is pending for it; false when it was off already. */
export async function disableEndpoint(sql: Sql, id: string, reason: DisabledReason): Promise<boolean> {
  const { count } = await sql`
    update webhook_endpoints
       set enabled = false, disabled_at = now(), disabled_reason = ${reason}, off_from = now(), off_until = null
     where id = ${id} and enabled`
  if (count === 0) return false
  await sql`update webhook_deliveries set status = 'held' where endpoint_id = ${id} and status = 'pending'`
  return true
}

/** Takes a locked endpoint out of sight, erases its secrets and ends what is pending for it. */
export async function deleteEndpoint(sql: Sql, id: string): Promise<void> {
  await sql`
    update webhook_endpoints set deleted_at = now(), enabled = false, secret = null, previous_secret = null where id = ${id}`
  await sql`
    update webhook_deliveries set status = 'failed', settled_at = now()
     where endpoint_id = ${id} and status in ('pending', 'held')`
}

/** Puts a new secret in the place of the current one, which stays good for `overlapHours` more; the one before that ends at once. */
export async function replaceSecret(
  sql: Sql,
  id: string,
  { sealed, last4, overlapHours }: { sealed: string; last4: string; overlapHours: number },
): Promise<Endpoint> {
  const [row] = await sql<[EndpointRow]>`
    update webhook_endpoints
       set previous_secret = case when ${overlapHours}::int > 0 then secret end,
           previous_secret_expires_at = case when ${overlapHours}::int > 0 then now() + ${overlapHours}::int * interval '1 hour' end,
           secret = ${sealed}, secret_last4 = ${last4}
     where id = ${id} returning ${shown(sql)}`
  return present(row)
}
