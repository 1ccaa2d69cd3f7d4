import { randomBytes, randomInt } from 'node:crypto'
import { decrypt, encrypt, rewrap, sameValue, type Place } from '../src/encryption.js'

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

test('a rewrapped value opens with the new key, is the same value, and was not sealed anew', () => {
  const [current, older] = [keys.slice(0, 1), keys.slice(1)]
  const sealed = encrypt('secret', place, older)
  const wrapped = rewrap(sealed, place, keys)
  expect(decrypt(wrapped, place, current)).toBe('secret')
  expect(wrapped.split('.')[3]).toBe(sealed.split('.')[3])
  expect([sameValue(wrapped, sealed), sameValue(sealed, encrypt('secret', place, older))]).toEqual([true, false])
})

test('a value of another place, or one whose value does not open, is not rewrapped', () => {
  const sealed = encrypt('secret', place, keys.slice(1))
  expect(() => rewrap(sealed, 'org_1|connections|credentials|conn_2', keys)).toThrow()
  const [version, id, wrapped] = sealed.split('.')
  const foreign = encrypt('secret', place, keys).split('.')[3]
  expect(() => rewrap([version, id, wrapped, foreign].join('.'), place, keys)).toThrow()
})

test('ten thousand values with one changed bit: none opens, before or after a rewrapping', () => {
  const sealed = encrypt('a token of some length: 0123456789abcdef', place, keys.slice(1))
  let accepted = 0
  for (let round = 0; round < 10_000; round++) {
    const from = round % 2 ? sealed : rewrap(sealed, place, keys)
    const parts = from.split('.')
    const part = 2 + ((round % 4) >> 1)
    const bytes = Buffer.from(parts[part]!, 'base64url')
    const bit = randomInt(bytes.length * 8)
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    parts[part] = bytes.toString('base64url')
    try {
      decrypt(parts.join('.'), place, keys)
      accepted++
    } catch (error) {
      expect((error as Error).message).toMatch(/unable to authenticate/)
    }
  }
  expect(accepted).toBe(0)
})
