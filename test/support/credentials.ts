import { readConfig } from '../../src/config.js'
import type { Database } from '../../src/db/client.js'
import { encrypt } from '../../src/encryption.js'
import { findStoredAccount, openCredentials } from '../../src/relay/connections/repository.js'
import type { Credentials } from '../../src/relay/platforms/platform.js'

const { keyEncryptionKeys: keys } = readConfig({ DATABASE_URL: 'postgres://unused/unused' })

/** The credentials of a connection, opened as a worker would. */
export async function readCredentials(
  sql: Database,
  organisationId: string,
  connectionId: string,
): Promise<Credentials> {
  const account = await findStoredAccount(sql, organisationId, connectionId)
  if (!account?.sealed) throw new Error(`Connection ${connectionId} has no credentials`)
  return openCredentials(account.sealed, { organisationId, connectionId, keys })
}

/** Changes some of them, as time or the platform would. */
export async function changeCredentials(
  sql: Database,
  { organisationId, connectionId, ...changes }: { organisationId: string; connectionId: string } & Credentials,
): Promise<void> {
  const credentials = { ...(await readCredentials(sql, organisationId, connectionId)), ...changes }
  const sealed = encrypt(JSON.stringify(credentials), `${organisationId}|connections|credentials|${connectionId}`, keys)
  await sql`update connections set credentials = ${sealed} where id = ${connectionId}`
}
