import { createHmac, randomInt, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const PREFIX = 'rk_live_'
const ID_LENGTH = 12
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const SHAPE = new RegExp(
  `^${PREFIX}([0-9A-Za-z]{${ID_LENGTH}})_([0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
)

/** The parts of a key as sent: `rk_live_<public id>_<secret><checksum>`. */
export interface KeyParts {
  publicId: string
  secret: string
}

function randomBase62(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('')
}

function checksum({ publicId, secret }: KeyParts): string {
  let digits = ''
  for (
    let rest = crc32(`${PREFIX}${publicId}_${secret}`);
    digits.length < CHECKSUM_LENGTH;
    rest = Math.floor(rest / 62)
  )
    digits = ALPHABET.charAt(rest % 62) + digits
  return digits
}

/** A new key with 256 random bits; the text is shown once and never stored. */
export function makeKey(): KeyParts & { text: string } {
  const parts = { publicId: randomBase62(ID_LENGTH), secret: randomBase62(SECRET_LENGTH) }
  return { ...parts, text: `${PREFIX}${parts.publicId}_${parts.secret}${checksum(parts)}` }
}

/** Takes a key apart; null for anything that is not one, told by its checksum without asking the database. */
export function parseKey(text: string): KeyParts | null {
  const [, publicId, secret, sum] = SHAPE.exec(text) ?? []
  if (!publicId || !secret) return null
  return checksum({ publicId, secret }) === sum ? { publicId, secret } : null
}

/** HMAC-SHA256 over salt and secret, keyed with the pepper: 32 bytes. The secret has 256 bits, so a slow hash would add nothing. */
export function digestSecret(secret: string, salt: Uint8Array, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(salt).update(secret).digest()
}

/** Whether the digests are equal, in constant time. */
export function sameDigest(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
