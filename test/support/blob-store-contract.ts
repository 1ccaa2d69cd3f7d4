import { createHash, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { BlobStore } from '../../src/storage/blob-store.js'

const chunk = randomBytes(1_000_000)

async function* chunks(count: number, breakAfter = Infinity) {
  for (let at = 0; at < count; at++) {
    if (at === breakAfter) throw new Error('the line broke')
    yield chunk
  }
}

/** What every driver promises (src/storage/blob-store.ts). */
export function testBlobStore(open: () => BlobStore): void {
  let made = 0
  const newKey = () => `org/org_1/med_${made++}`

  test.each([0, 1, 20])('%i MB come back as they were put, counted and hashed', async (megabytes) => {
    const store = open()
    const key = newKey()
    const { bytes, sha256 } = await store.put(key, chunks(megabytes))
    const all = Buffer.concat(Array.from({ length: megabytes }, () => chunk))
    expect([bytes, sha256]).toEqual([all.length, createHash('sha256').update(all).digest()])
    expect(await store.size(key)).toBe(all.length)
    expect((await buffer((await store.get(key))!)).equals(all)).toBe(true)
  })

  test('a range is read alone, its ends included', async () => {
    const store = open()
    const key = newKey()
    await store.put(key, chunks(1))
    const part = await buffer((await store.get(key, { start: 10, end: 19 }))!)
    expect(part).toEqual(chunk.subarray(10, 20))
  })

  test.each([1, 12])('a stream that breaks after %i of 20 MB leaves nothing', async (breakAfter) => {
    const store = open()
    const key = newKey()
    await expect(store.put(key, chunks(20, breakAfter))).rejects.toThrow('the line broke')
    expect([await store.size(key), await store.get(key)]).toEqual([null, null])
  })

  test('what was deleted is gone, and may be deleted again', async () => {
    const store = open()
    const key = newKey()
    await store.put(key, chunks(1))
    await store.delete(key)
    await store.delete(key)
    expect([await store.size(key), await store.get(key)]).toEqual([null, null])
  })

  test.each(['../x', 'a/../b', '/etc/x', '', 'a//b', 'a/./b'])('the key %j is refused', async (key) => {
    await expect(open().put(key, chunks(1))).rejects.toThrow('Not a key')
  })
}
