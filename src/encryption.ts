import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** A key-encryption key: 32 bytes under the id that stands in every value it wrapped. */
export interface KeyEncryptionKey {
  id: string
  key: Buffer
}

/** Where a value lives, as `organisation|table|column|row`: bound to it, so that a value moved elsewhere does not open. */
export type Place = `${string}|${string}|${string}|${string}`

/** A column of sealed values and the place of each by the row's organisation and id. */
export interface SealedColumn {
  table: string
  column: string
  placeOf(organisationId: string, id: string): Place
}

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

function encryptBytes(key: Buffer, bytes: Buffer, place: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place))
  return Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

function decryptBytes(key: Buffer, encoded: string, place: string): Buffer {
  const bytes = Buffer.from(encoded, 'base64url')
  // The tag's length is fixed: Node would otherwise accept one cut to four bytes.
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
}

/** Envelope encryption: `v1.<key id>.<wrapped data key>.<value>`, a fresh 256-bit data key for each value, AES-256-GCM for both
 *  (NIST SP 800-38D). The first key of the list wraps. */
export function encrypt(plaintext: string, place: Place, keys: readonly KeyEncryptionKey[]): string {
  const [wrapping] = keys
  if (!wrapping) throw new Error('There is no key-encryption key')
  const dataKey = randomBytes(32)
  return [
    'v1',
    wrapping.id,
    encryptBytes(wrapping.key, dataKey, place),
    encryptBytes(dataKey, Buffer.from(plaintext), place),
  ].join('.')
}

/** Opens what `encrypt` made for this very place. Throws when the key is not in the list, or a bit was changed, or the place is another. */
export function decrypt(sealed: string, place: Place, keys: readonly KeyEncryptionKey[]): string {
  const { dataKey, value } = unwrap(sealed, place, keys)
  return decryptBytes(dataKey, value, place).toString('utf8')
}

/** Wraps the data key of a sealed value with the first key of the list; the value itself stays as it is, byte for byte. Throws as `decrypt` does. */
export function rewrap(sealed: string, place: Place, keys: readonly KeyEncryptionKey[]): string {
  const [wrapping] = keys
  if (!wrapping) throw new Error('There is no key-encryption key')
  const { dataKey, value } = unwrap(sealed, place, keys)
  // A data key that does not open its value must not get a wrapping that looks sound.
  decryptBytes(dataKey, value, place)
  return ['v1', wrapping.id, encryptBytes(wrapping.key, dataKey, place), value].join('.')
}

/** Whether both seal the very same value, whichever key wraps its data key: each sealing makes a value part of its own. */
export function sameValue(a: string, b: string): boolean {
  return valuePart(a) === valuePart(b)
}

const valuePart = (sealed: string) => sealed.split('.')[3] ?? ''

function unwrap(sealed: string, place: Place, keys: readonly KeyEncryptionKey[]): { dataKey: Buffer; value: string } {
  const [version, id, wrapped = '', value = ''] = sealed.split('.')
  const key = keys.find((candidate) => candidate.id === id)
  if (version !== 'v1' || !key) throw new Error(`No key-encryption key opens this value (${version}, ${id})`)
  return { dataKey: decryptBytes(key.key, wrapped, place), value }
}
