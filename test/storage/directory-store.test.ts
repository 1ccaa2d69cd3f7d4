import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDirectoryStore } from '../../src/storage/directory-store.js'
import { testBlobStore } from '../support/blob-store-contract.js'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'relay-blobs-'))
})
afterAll(() => rm(folder, { recursive: true }))

testBlobStore(() => createDirectoryStore(folder))

test('a key that is taken is not written over', async () => {
  const store = createDirectoryStore(folder)
  const put = (text: string) => store.put('org/taken', (async function* () { yield Buffer.from(text) })()) // prettier-ignore
  await put('first')
  await expect(put('second')).rejects.toMatchObject({ code: 'EEXIST' })
  expect(await store.size('org/taken')).toBe(5)
  expect(await readdir(join(folder, 'org'))).toContain('taken')
})
