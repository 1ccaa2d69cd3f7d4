import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { createS3Store } from '../../src/storage/s3-store.js'
import { findVersitygw, startVersitygw } from '../../tools/stack/versitygw.js'
import { testBlobStore } from '../support/blob-store-contract.js'

let folder: string
let server: Awaited<ReturnType<typeof startVersitygw>>
let store: BlobStore

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'relay-s3-'))
  const binary = await findVersitygw((line) => void process.stdout.write(`${line}\n`))
  server = await startVersitygw({ binary, folder, bucket: 'media' })
  store = createS3Store({ ...server, bucket: 'media', region: 'us-east-1' })
}, 900_000)
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

testBlobStore(() => store)

test('no part of an upload that broke stays in the bucket', async () => {
  const broken = async function* () {
    for (let at = 0; at < 30; at++) yield Buffer.alloc(1_000_000)
    throw new Error('the line broke')
  }
  await expect(store.put('org/broken', broken())).rejects.toThrow('the line broke')
  const client = new S3Client({
    region: 'us-east-1',
    endpoint: server.endpoint,
    credentials: server,
    forcePathStyle: true,
  })
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: 'media' }))
  expect(Uploads).toEqual([])
})
