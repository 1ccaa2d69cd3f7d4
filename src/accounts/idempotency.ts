import type { Database, Sql, Transaction } from '../db/client.js'
import { AppError } from '../errors.js'

/** What a request answered: its status and the very bytes. */
export interface StoredReply {
  status: number
  body: string
}

/** One use of an Idempotency-Key by an organisation; the fingerprint is the SHA-256 of what was asked. */
export interface KeyedRequest {
  organisationId: string
  key: string
  fingerprint: Buffer
}

/** The reply kept under the key within the last 24 hours of the database's clock; null when there is none. Throws 409 idempotency_conflict when it
 *  belonged to a different request. */
export async function findReply(
  sql: Sql,
  { organisationId, key, fingerprint }: KeyedRequest,
): Promise<StoredReply | null> {
  const [row] = await sql<(StoredReply & { same: boolean })[]>`
    select status, body, fingerprint = ${fingerprint} as same from idempotency_keys
     where organisation_id = ${organisationId} and key = ${key} and created_at > now() - interval '24 hours'`
  if (!row) return null
  if (!row.same)
    throw new AppError(
      'idempotency_conflict',
      'This Idempotency-Key was used for a different request; use a new one.',
      { reason: 'different_request' },
    )
  return { status: row.status, body: row.body }
}

/** Keeps a reply in the transaction that did the work, so that both are there or neither. */
export async function keepReply(
  tx: Transaction,
  { organisationId, key, fingerprint }: KeyedRequest,
  { status, body }: StoredReply,
): Promise<void> {
  await tx`
    insert into idempotency_keys (organisation_id, key, fingerprint, status, body)
    values (${organisationId}, ${key}, ${fingerprint}, ${status}, ${body})
    on conflict (organisation_id, key) do update
       set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body, created_at = now()`
}

/** Whether this transaction is the only one at work under the key; false at once when another is. */
export async function claimKey(tx: Transaction, { organisationId, key }: KeyedRequest): Promise<boolean> {
  const [row] = await tx<[{ mine: boolean }]>`
    select pg_try_advisory_xact_lock(hashtextextended(${`${organisationId} ${key}`}, 0)) as mine`
  return row.mine
}

/** Removes replies older than 24 hours, at most 1,000 at a time; answers how many. */
export async function dropOldReplies(database: Database): Promise<number> {
  const { count } = await database`
    delete from idempotency_keys where ctid in (
      select ctid from idempotency_keys where created_at <= now() - interval '24 hours' limit 1000)`
  return count
}
