import { digestSecret, makeKey, parseKey, sameDigest } from '../../src/accounts/key-format.js'

test('a key has the documented form and can be taken apart', () => {
  const { text, publicId, secret } = makeKey()
  expect(text).toMatch(/^rk_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/)
  expect(parseKey(text)).toEqual({ publicId, secret })
})

test('every single changed character is told by the checksum', () => {
  const { text } = makeKey()
  for (let at = 'rk_live_'.length; at < text.length; at++) {
    const other = text[at] === 'x' ? 'y' : 'x'
    expect(parseKey(text.slice(0, at) + other + text.slice(at + 1))).toBeNull()
  }
})

test('a digest depends on secret, salt and pepper', () => {
  const digest = digestSecret('secret', Buffer.alloc(16), 'pepper')
  expect(digest).toHaveLength(32)
  expect(sameDigest(digest, digestSecret('secret', Buffer.alloc(16), 'pepper'))).toBe(true)
  expect(sameDigest(digest, digestSecret('other', Buffer.alloc(16), 'pepper'))).toBe(false)
  expect(sameDigest(digest, digestSecret('secret', Buffer.alloc(16, 1), 'pepper'))).toBe(false)
  expect(sameDigest(digest, digestSecret('secret', Buffer.alloc(16), 'other'))).toBe(false)
})
