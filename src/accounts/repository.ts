import { randomBytes } from 'node:crypto'
import type { Sql } from '../db/client.js'
import { notFound } from '../errors.js'
import { newId } from '../ids.js'
import { digestSecret, makeKey, parseKey, sameDigest } from './key-format.js'
import { limitsOf, type Limits, type PlanCode } from './plans.js'
import type { Caller, Key, Scope } from './schema.js'

interface KeyRow {
  id: string
  organisation_id: string
  name: string
  salt: Uint8Array
  digest: Uint8Array
  scopes: Scope[]
  plan: PlanCode
  limits_override: Partial<Limits>
  timezone: string
}

// Compared against when there is no such key, so that an unknown key takes as long as a wrong one.
const NOBODY = { salt: new Uint8Array(16), digest: new Uint8Array(32) }

/** Makes an organisation; answers its id. `limits` are merged over its plan's. */
export async function createOrganisation(
  sql: Sql,
  { name, plan = 'scale', limits = {} }: { name: string; plan?: PlanCode; limits?: Partial<Limits> },
): Promise<string> {
  const id = newId('org')
  await sql`
    insert into organisations (id, name, plan, limits_override) values (${id}, ${name}, ${plan}, ${sql.json(limits)})`
  return id
}

/** Every organisation, the oldest first, with how many of its keys work. */
export async function findOrganisations(
  sql: Sql,
): Promise<{ id: string; name: string; plan: PlanCode; keys: number }[]> {
  return sql`
    select id, name, plan,
           (select count(*)::int from api_keys k
             where k.organisation_id = o.id and revoked_at is null and (expires_at is null or expires_at > now())) as keys
      from organisations o order by id`
}

/** What an organisation may use; throws for one that is none. */
export async function readLimits(sql: Sql, organisationId: string): Promise<Limits> {
  const [row] = await sql<{ plan: PlanCode; limits_override: Partial<Limits> }[]>`
    select plan, limits_override from organisations where id = ${organisationId}`
  if (!row) throw new Error(`There is no organisation ${organisationId}`)
  return limitsOf(row.plan, row.limits_override)
}

/** Makes a key of the organisation. `key` is its text: shown once, only its salted hash is kept. */
export async function createKey(
  sql: Sql,
  organisationId: string,
  { name, scopes, pepper }: { name: string; scopes: Scope[]; pepper: string },
): Promise<{ id: string; key: string }> {
  const { text, publicId, secret } = makeKey()
  const id = newId('key')
  const salt = randomBytes(16)
  await sql`
    insert into api_keys (id, organisation_id, name, public_id, salt, digest, last4, scopes)
    values (${id}, ${organisationId}, ${name}, ${publicId}, ${salt}, ${digestSecret(secret, salt, pepper)}, ${text.slice(-4)}, ${scopes})`
  return { id, key: text }
}

interface ShownRow extends Omit<Key, 'created_at' | 'expires_at' | 'revoked_at' | 'last_used_at' | 'created_by'> {
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
}

// Its rate window tells the minute in which a key was last used.
const shown = (sql: Sql) => sql`
  id, name, scopes, last4, created_at, expires_at, revoked_at,
  (select starts_at from rate_windows where key_id = api_keys.id) as last_used_at`

function present(row: ShownRow): Key {
  return {
    ...row,
    created_by: null,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  }
}

/** The organisation's keys, newest first, revoked ones too. */
export async function listKeys(sql: Sql, organisationId: string): Promise<Key[]> {
  const rows = await sql<ShownRow[]>`
    select ${shown(sql)} from api_keys where organisation_id = ${organisationId} order by id desc`
  return rows.map(present)
}

/** Ends a key at once, for good; one that has ended stays as it is. Throws 404. */
export async function revokeKey(sql: Sql, organisationId: string, keyId: string): Promise<Key> {
  const [row] = await sql<ShownRow[]>`
    update api_keys set revoked_at = coalesce(revoked_at, now())
     where id = ${keyId} and organisation_id = ${organisationId} returning ${shown(sql)}`
  if (!row) throw notFound()
  return present(row)
}

/** Whom the text of a key stands for; null for a malformed, unknown, revoked or expired one. Never cached: a revocation counts at once. */
export async function findCaller(sql: Sql, text: string, { pepper }: { pepper: string }): Promise<Caller | null> {
  const parts = parseKey(text)
  if (!parts) return null
  const [row] = await sql<KeyRow[]>`
    select k.id, k.organisation_id, k.name, k.salt, k.digest, k.scopes, o.plan, o.limits_override, o.timezone
      from api_keys k join organisations o on o.id = k.organisation_id
     where public_id = ${parts.publicId} and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`
  const { salt, digest } = row ?? NOBODY
  const same = sameDigest(digestSecret(parts.secret, salt, pepper), digest)
  if (!row || !same) return null
  return {
    organisationId: row.organisation_id,
    kind: 'key',
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    plan: row.plan,
    limits: limitsOf(row.plan, row.limits_override),
    timezone: row.timezone,
  }
}
