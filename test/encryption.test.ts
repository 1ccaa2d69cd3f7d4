import { randomBytes } from 'node:crypto'
import { decrypt, encrypt, type Place } from '../src/encryption.js'

const place: Place = 'org_1|connections|credentials|conn_1'
const keys = [
  { id: 'new', key: randomBytes(32) },
  { id: 'old', key: randomBytes(32) },
]

test('what is encrypted opens again, and never looks the same twice', () => {
  const sealed = encrypt('geheim 🔑', place, keys)
  expect(sealed).toMatch(/^v1\.new\./)
  expect(decrypt(sealed, place, keys)).toBe('geheim 🔑')
  expect(encrypt('geheim 🔑', place, keys)).not.toBe(sealed)
})

test('a value moved to another organisation or row does not open', () => {
  const sealed = encrypt('secret', place, keys)
  expect(() => decrypt(sealed, 'org_2|connections|credentials|conn_1', keys)).toThrow()
  expect(() => decrypt(sealed, 'org_1|connections|credentials|conn_2', keys)).toThrow()
})

test('a value of an older key opens while that key is in the list, and not after', () => {
  const sealed = encrypt('secret', place, keys.slice(1))
  expect(decrypt(sealed, place, keys)).toBe('secret')
  expect(() => decrypt(sealed, place, keys.slice(0, 1))).toThrow(/No key-encryption key/)
})

test('no changed bit and no shortened tag is accepted', () => {
  const [version = '', id = '', wrapped = '', value = ''] = encrypt('secret', place, keys).split('.')
  for (const part of [wrapped, value]) {
    const bytes = Buffer.from(part, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      const other = changed.toString('base64url')
      const sealed = [version, id, part === wrapped ? other : wrapped, part === value ? other : value].join('.')
      expect(() => decrypt(sealed, place, keys)).toThrow()
    }
    expect(() =>
      decrypt(
        [version, id, wrapped, Buffer.from(value, 'base64url').subarray(0, -12).toString('base64url')].join('.'),
        place,
        keys,
      ),
    ).toThrow()
  }
})
