import { decrypt, encrypt, sameValue, type KeyEncryptionKey, type Place, type SealedColumn } from '../../encryption.js'
import { instantText } from '../../db/clock.js'
import type { Database, Json, Sql } from '../../db/client.js'
import { newId } from '../../ids.js'
import { recordConnectionEvent } from '../events/repository.js'
import type { Account, Credentials, Limits } from '../platforms/platform.js'
import type { Connection, ConnectionStatus } from './schema.js'

type Keys = readonly KeyEncryptionKey[]

interface ConnectionRow extends Omit<
  Connection,
  'platform_app_id' | 'token_expires_at' | 'last_verified_at' | 'created_at'
> {
  token_expires_at: Date | null
  last_verified_at: Date | null
  created_at: Date
}

/** What a post needs to know of a connection to aim at it. */
export interface Destination {
  id: string
  platform: string
  handle: string
  status: ConnectionStatus
  /** What its server allows. */
  limits: Limits
}

/** The place of a connection's credentials. */
export const credentialsPlace = (organisationId: string, id: string): Place =>
  `${organisationId}|connections|credentials|${id}`

/** Where credentials lie. */
export const CREDENTIALS_COLUMN: SealedColumn = {
  table: 'connections',
  column: 'credentials',
  placeOf: credentialsPlace,
}

const shown = (sql: Sql) => sql`
  id, platform, status, handle, display_name, avatar_url, metadata, token_expires_at, last_verified_at, last_error, created_via, created_at`

function present(row: ConnectionRow): Connection {
  return {
    ...row,
    platform_app_id: null,
    token_expires_at: row.token_expires_at?.toISOString() ?? null,
    last_verified_at: row.last_verified_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  }
}

/** Keeps an account with its credentials sealed. The same account again keeps its connection's id and becomes active with the new ones;
 *  `fresh` is one that was not there. */
export async function saveConnection(
  sql: Sql,
  organisationId: string,
  {
    platform,
    account,
    metadata = {},
    keys,
  }: { platform: string; account: Account; metadata?: Record<string, unknown> | undefined; keys: Keys },
): Promise<{ connection: Connection; fresh: boolean }> {
  const [{ id, fresh }] = await sql<[{ id: string; fresh: boolean }]>`
    insert into connections (id, organisation_id, platform, account_id, handle, display_name, avatar_url, limits, created_via, last_verified_at)
    values (${newId('conn')}, ${organisationId}, ${platform}, ${account.accountId}, ${account.handle}, ${account.displayName},
            ${account.avatarUrl}, ${sql.json({ ...account.limits })}, 'api', now())
    on conflict (organisation_id, platform, account_id) where deleted_at is null do update
       set handle = excluded.handle, display_name = excluded.display_name, avatar_url = excluded.avatar_url, limits = excluded.limits,
           status = 'active', last_verified_at = now(), last_error = null
    returning id, xmax = 0 as fresh`
  // Sealed for the row it lies in, so the row's id comes first.
  const credentials = encrypt(JSON.stringify(account.credentials), credentialsPlace(organisationId, id), keys)
  const [row] = await sql<[ConnectionRow]>`
    update connections set credentials = ${credentials}, metadata = ${merged(sql, metadata)} where id = ${id} returning ${shown(sql)}`
  return { connection: present(row), fresh }
}

/** One level deep, null removing a key (RFC 7396). */
function merged(sql: Sql, metadata: Record<string, unknown>) {
  const removed = Object.keys(metadata).filter((key) => metadata[key] === null)
  return sql`(metadata || ${sql.json(metadata as Json)}) - ${removed}::text[]`
}

/** How many connections the organisation has. */
export async function countConnections(sql: Sql, organisationId: string): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from connections where organisation_id = ${organisationId} and deleted_at is null`
  return row.count
}

/** One connection; null when the organisation has none of that id. */
export async function findConnection(sql: Sql, organisationId: string, id: string): Promise<Connection | null> {
  const [row] = await sql<ConnectionRow[]>`
    select ${shown(sql)} from connections where organisation_id = ${organisationId} and id = ${id} and deleted_at is null`
  return row ? present(row) : null
}

/** The organisation's connections, newest first. */
export async function listConnections(
  sql: Sql,
  organisationId: string,
  { platform, status }: { platform?: string | undefined; status?: ConnectionStatus | undefined },
): Promise<Connection[]> {
  const rows = await sql<ConnectionRow[]>`
    select ${shown(sql)} from connections
     where organisation_id = ${organisationId} and deleted_at is null
       ${platform ? sql`and platform = ${platform}` : sql``}
       ${status ? sql`and status = ${status}` : sql``}
     order by id desc`
  return rows.map(present)
}

/** Merges metadata and switches a connection off or on again; one that asks to be reconnected stays so.
 *  Null when the organisation has none of that id. */
export async function updateConnection(
  sql: Sql,
  organisationId: string,
  id: string,
  {
    metadata = {},
    status,
  }: { metadata?: Record<string, unknown> | undefined; status?: 'active' | 'disabled' | undefined },
): Promise<Connection | null> {
  const [row] = await sql<ConnectionRow[]>`
    update connections
       set metadata = ${merged(sql, metadata)},
           status = case when ${status ?? null}::text is not null and status in ('active', 'disabled') then ${status ?? null} else status end
     where organisation_id = ${organisationId} and id = ${id} and deleted_at is null
    returning ${shown(sql)}`
  return row ? present(row) : null
}

/** Erases a connection's credentials and takes it out of sight; false when the organisation has none of that id. */
export async function eraseConnection(sql: Sql, organisationId: string, id: string): Promise<boolean> {
  const { count } = await sql`
    update connections set deleted_at = now(), credentials = null, status = 'revoked', metadata = '{}'
     where organisation_id = ${organisationId} and id = ${id} and deleted_at is null`
  return count === 1
}

/** What reaching the account of a connection takes; `sealed` is null once its credentials were erased. */
export async function findStoredAccount(
  sql: Sql,
  organisationId: string,
  id: string,
): Promise<{ organisationId: string; connectionId: string; platform: string; sealed: string | null } | null> {
  const [row] = await sql<{ platform: string; credentials: string | null }[]>`
    select platform, credentials from connections where organisation_id = ${organisationId} and id = ${id} and deleted_at is null`
  return row ? { organisationId, connectionId: id, platform: row.platform, sealed: row.credentials } : null
}

/** Writes what the platform shows of an account that still accepts its credentials, which makes one that had asked to be reconnected active. */
export async function refreshShown(
  sql: Sql,
  id: string,
  { handle, displayName, avatarUrl }: Pick<Account, 'handle' | 'displayName' | 'avatarUrl'>,
): Promise<void> {
  await sql`
    update connections
       set handle = ${handle}, display_name = ${displayName}, avatar_url = ${avatarUrl}, last_verified_at = now(), last_error = null,
           status = case when status = 'disabled' then status else 'active' end
     where id = ${id}`
}

/** The organisation's connections among these ids, and every active one on these platforms, in id order. */
export async function findDestinations(
  sql: Sql,
  organisationId: string,
  { ids, platforms }: { ids: string[]; platforms: string[] },
): Promise<Destination[]> {
  return sql<Destination[]>`
    select id, platform, handle, status, limits from connections
     where organisation_id = ${organisationId} and deleted_at is null
       and (id = any(${ids}) or platform = any(${platforms}) and status = 'active')
     order by id`
}

/** Opens what is sealed in a connection's row. */
export function openCredentials(
  sealed: string,
  { organisationId, connectionId, keys }: { organisationId: string; connectionId: string; keys: Keys },
): Credentials {
  return JSON.parse(decrypt(sealed, credentialsPlace(organisationId, connectionId), keys)) as Credentials
}

/** Marks a connection whose account does not accept the credentials `used` (as they are sealed) any more, and tells of it when that is news; one
 *  that was given others meanwhile stays. Compared by the value part: a rotation of keys changes the wrapping only. */
export async function flagConnection(
  sql: Sql,
  connectionId: string,
  {
    status,
    code,
    message,
    used,
  }: { status: 'reauth_required' | 'revoked'; code: string; message: string; used: string | null },
): Promise<void> {
  const error = sql`jsonb_build_object('code', ${code}::text, 'message', ${message}::text, 'at', ${instantText(sql)})`
  const [flagged] = await sql<{ news: boolean }[]>`
    update connections c set status = ${status}, last_error = ${error}
      from (select id, status from connections where id = ${connectionId} for update) before
     where c.id = before.id and split_part(credentials, '.', 4) = split_part(${used}, '.', 4)
       and c.status in ('active', 'reauth_required')
    returning before.status <> c.status as news`
  if (flagged?.news) await recordConnectionEvent(sql, connectionId, status)
}

/** Renews the credentials that `used` were the sealed form of, once for all who ask: under the row's lock, whoever comes second finds
 *  them renewed already and asks nobody. The lock is held over the call because a rotating token may be traded only once; `renewals` is a pool for nothing else, so that a platform that hangs holds up nobody. */
export async function renewCredentials(
  renewals: Database,
  { connectionId, used, keys }: { connectionId: string; used: string; keys: Keys },
  renew: (credentials: Credentials) => Promise<Credentials>,
): Promise<void> {
  await renewals.begin(async (tx) => {
    await tx`set local lock_timeout = '5s'`
    const [row] = await tx<{ organisation_id: string; credentials: string | null }[]>`
      select organisation_id, credentials from connections where id = ${connectionId} for update`
    if (!row?.credentials || !sameValue(row.credentials, used)) return
    const renewed = await renew(
      openCredentials(row.credentials, { organisationId: row.organisation_id, connectionId, keys }),
    )
    const sealed = encrypt(JSON.stringify(renewed), credentialsPlace(row.organisation_id, connectionId), keys)
    await tx`update connections set credentials = ${sealed} where id = ${connectionId}`
  })
}
