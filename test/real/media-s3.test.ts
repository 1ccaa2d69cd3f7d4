import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Media } from '../../src/relay/media/schema.js'
import { measureUpload } from '../../tools/bench/upload.js'
import { findVersitygw, startVersitygw } from '../../tools/stack/versitygw.js'
import { startApp, type App, type Tenant } from '../support/app.js'
import { anImage, aVideo } from '../support/files.js'
import { until } from '../support/until.js'

let folder: string
let server: Awaited<ReturnType<typeof startVersitygw>>
let app: App
let tenant: Tenant

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'relay-s3-'))
  const binary = await findVersitygw((line) => void process.stdout.write(`${line}\n`))
  server = await startVersitygw({ binary, folder, bucket: 'media' })
  app = await startApp({
    env: {
      S3_ENDPOINT: server.endpoint,
      S3_BUCKET: 'media',
      S3_REGION: 'us-east-1',
      S3_ACCESS_KEY_ID: server.accessKeyId,
      S3_SECRET_ACCESS_KEY: server.secretAccessKey,
    },
  })
  tenant = await app.tenant()
}, 900_000)
afterAll(async () => {
  await app.stop()
  await server.stop()
  await rm(folder, { recursive: true })
})

const assets = async () => (await tenant.call<Media[]>('GET', '/v1/media')).body.data

test('a picture lies in the bucket, is served by its signed address, and goes out with a post', async () => {
  const bytes = await anImage()
  const { data: asset } = (await tenant.upload(bytes)).body
  expect(Buffer.from(await (await fetch(asset.url)).arrayBuffer()).equals(bytes)).toBe(true)
  const connection = await tenant.connect()
  const post = await tenant.post('from the bucket', [connection], { content: { text: 'x', media: [{ id: asset.id }] } })
  expect((await tenant.settled(post.id)).status).toBe('published')
})

test('a gigabyte passes through the api into the bucket without staying in its memory', async () => {
  const grown = await measureUpload({ origin: app.url, key: tenant.key, pid: app.api!.pid }, 1_000)
  expect(grown).toBeLessThan(150)
  const [asset] = await assets()
  expect([asset!.bytes, asset!.kind]).toEqual([1_000_000_024, 'video'])
  const part = await fetch(asset!.url, { headers: { range: 'bytes=4-7' } })
  expect([part.status, await part.text()]).toEqual([206, 'ftyp'])
})

test('a storage that goes away in the middle of an upload costs that upload, and leaves nothing', async () => {
  const before = (await assets()).length
  const sending = request(`${app.url}/v1/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'multipart/form-data; boundary=b' },
  })
  const answered = new Promise<number>((resolve) => {
    sending.once('response', (response) => resolve(response.resume().statusCode ?? 0))
    sending.once('error', () => resolve(0))
  })
  sending.write('--b\r\ncontent-disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n')
  sending.write(aVideo(20_000_000))
  await until('the upload has begun', async () => (await app.sql`select from loose_blobs`).length > 0)
  await server.stop()
  sending.end(Buffer.concat([aVideo(20_000_000), Buffer.from('\r\n--b--\r\n')]))
  expect(await answered).toBe(503)
  expect(await assets()).toHaveLength(before)
  // What does not need the bucket goes on.
  const post = await tenant.post('without a picture', [await tenant.connect()])
  expect((await tenant.settled(post.id)).status).toBe('published')
}, 300_000)
