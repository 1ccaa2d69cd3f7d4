import { randomBytes } from 'node:crypto'
import { decrypt, encrypt, type KeyEncryptionKey, type Place, type SealedColumn } from '../../encryption.js'
import { SECRET_PREFIX, type Secrets } from '../signature.js'

/** One place for the current and the previous secret: a rotation moves the sealed text from one column to the other. */
const secretPlace = (organisationId: string, id: string): Place => `${organisationId}|webhook_endpoints|secret|${id}`

/** Where secrets lie. */
export const SECRET_COLUMNS: readonly SealedColumn[] = ['secret', 'previous_secret'].map((column) => ({
  table: 'webhook_endpoints',
  column,
  placeOf: secretPlace,
}))

type Row = { organisationId: string; id: string }

/** A new secret, and what may be kept of it. */
export function makeSecret({ organisationId, id }: Row, keys: readonly KeyEncryptionKey[]) {
  const secret = `${SECRET_PREFIX}${randomBytes(32).toString('base64')}`
  return { secret, sealed: encrypt(secret, secretPlace(organisationId, id), keys), last4: secret.slice(-4) }
}

/** Opens what an attempt is signed with. Throws when no key opens it. */
export function openSecrets(
  { organisationId, id, sealed }: Row & { sealed: [string, ...string[]] },
  keys: readonly KeyEncryptionKey[],
): Secrets {
  const open = (text: string) => decrypt(text, secretPlace(organisationId, id), keys)
  const [first, ...others] = sealed
  return [open(first), ...others.map(open)]
}
