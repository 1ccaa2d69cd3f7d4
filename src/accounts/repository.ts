import { randomBytes } from 'node:crypto'
import type { Sql } from '../db/client.js'
import { newId } from '../ids.js'
import { digestSecret, makeKey, parseKey, sameDigest } from './key-format.js'
import { limitsOf, type Limits, type PlanCode } from './plans.js'
import type { Caller, Scope } from './schema.js'

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
  { name, limits = {} }: { name: string; limits?: Partial<Limits> },
): Promise<string> {
  const id = newId('org')
  await sql`insert into organisations (id, name, limits_override) values (${id}, ${name}, ${sql.json(limits)})`
  return id
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

/** Ends a key at once; false when the organisation has no such live key. */
export async function revokeKey(sql: Sql, organisationId: string, keyId: string): Promise<boolean> {
  const { count } = await sql`
    update api_keys set revoked_at = now()
     where id = ${keyId} and organisation_id = ${organisationId} and revoked_at is null`
  return count === 1
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
    limits: limitsOf(row.plan, row.limits_override),
    timezone: row.timezone,
  }
}
