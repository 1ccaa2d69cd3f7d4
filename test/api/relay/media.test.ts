import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import sharp from 'sharp'
import type { Media } from '../../../src/relay/media/schema.js'
import { residentMb } from '../../../tools/bench/memory.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { anImage, anImageBomb, aVideo } from '../../support/files.js'
import { until } from '../../support/until.js'

let app: App
let tenant: Tenant

beforeAll(async () => {
  app = await startApp({ worker: false })
})
beforeEach(async () => {
  tenant = await app.tenant()
})
afterAll(() => app.stop())

/** Every file the store holds for a tenant. */
const filesOf = ({ organisationId }: Tenant) => readdir(`${app.mediaDir}/org/${organisationId}`).catch(() => [])
const rowsOf = async ({ organisationId }: Tenant) => {
  const [row] = await app.sql<[{ media: number; loose: number }]>`
    select (select count(*)::int from media where organisation_id = ${organisationId}) as media,
           (select count(*)::int from loose_blobs where blob like ${`org/${organisationId}/%`}) as loose`
  return row
}

describe('an upload', () => {
  test.each([
    ['png', 'image', 'image/png'],
    ['jpeg', 'image', 'image/jpeg'],
    ['webp', 'image', 'image/webp'],
    ['gif', 'image', 'image/gif'],
  ] as const)('of a %s is an asset with its size, whatever it is called', async (format, kind, contentType) => {
    const bytes = await anImage({ format })
    const { status, body } = await tenant.upload(bytes, { filename: 'prices.exe', alt: 'a plain field' })
    expect([status, body.data]).toEqual([
      200,
      {
        id: expect.stringMatching(/^med_/),
        kind,
        content_type: contentType,
        bytes: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
        width: 40,
        height: 30,
        duration_ms: null,
        alt: 'a plain field',
        filename: 'prices.exe',
        url: expect.stringContaining(`${app.url}/media/${body.data.id}/prices.`),
        created_at: expect.any(String),
      },
    ])
    expect((await tenant.call<Media>('GET', `/v1/media/id/${body.data.id}`)).body.data.sha256).toBe(body.data.sha256)
  })

  test('of a photograph that lies on its side has the size it is shown in', async () => {
    const bytes = await sharp(await anImage({ format: 'jpeg' }))
      .withMetadata({ orientation: 6 })
      .toBuffer()
    expect((await tenant.upload(bytes)).body.data).toMatchObject({ width: 30, height: 40 })
  })

  test('of video and sound is an asset of that kind', async () => {
    const sound = Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEfmt '), randomBytes(100)])
    expect((await tenant.upload(aVideo())).body.data).toMatchObject({ kind: 'video', content_type: 'video/mp4' })
    expect((await tenant.upload(sound)).body.data).toMatchObject({ kind: 'audio', content_type: 'audio/wav' })
  })

  test.each([
    ['text named .png', async () => Buffer.from('just text'.repeat(2_000)), 'a.png'],
    ['an SVG', async () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'), 'a.svg'],
    ['a page', async () => Buffer.from('<!doctype html><script>1</script>'), 'a.jpg'],
    ['nothing', async () => Buffer.alloc(0), 'a.png'],
    ['an image of 2.5 gigapixels in 200 bytes', anImageBomb, 'a.png'],
    ['half an image', async () => (await anImage({ noise: true })).subarray(0, 2_000), 'a.png'],
  ])('of %s is refused and leaves nothing', async (_what, make, filename) => {
    const { status, body } = await tenant.upload(await make(), { filename })
    expect([status, body.error.code, body.error.details['reason']]).toEqual([
      422,
      'validation_failed',
      'unsupported_media_type',
    ])
    expect([await filesOf(tenant), await rowsOf(tenant)]).toEqual([[], { media: 0, loose: 0 }])
  })

  test('of known bytes is the asset there is; its alt is filled in once', async () => {
    const bytes = await anImage()
    const first = (await tenant.upload(bytes)).body.data
    const named = (await tenant.upload(bytes, { alt: 'first', filename: 'other.png' })).body.data
    const again = (await tenant.upload(bytes, { alt: 'second' })).body.data
    expect([first.alt, named.alt, again.alt]).toEqual([null, 'first', 'first'])
    expect(new Set([first.id, named.id, again.id]).size).toBe(1)
    expect([await filesOf(tenant), await rowsOf(tenant)]).toEqual([[first.id], { media: 1, loose: 0 }])
    const stranger = await app.tenant()
    expect((await stranger.upload(bytes)).body.data.id).not.toBe(first.id)
  })

  test('of the same bytes ten times at once is one asset and one file', async () => {
    const bytes = await anImage()
    const answers = await Promise.all(Array.from({ length: 10 }, () => tenant.upload(bytes)))
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1)
    expect([(await filesOf(tenant)).length, await rowsOf(tenant)]).toEqual([1, { media: 1, loose: 0 }])
  })

  test('is done once for an Idempotency-Key; other bytes under it are a conflict', async () => {
    const [bytes, other] = [await anImage(), await anImage()]
    const headers = { 'idempotency-key': 'k' }
    const first = await tenant.upload(bytes, { headers })
    const replay = await tenant.upload(bytes, { headers })
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect(replay.body).toEqual(first.body)
    expect((await tenant.upload(other, { headers })).body.error.code).toBe('idempotency_conflict')
    expect((await tenant.upload(bytes, { headers, alt: 'x' })).body.error.code).toBe('idempotency_conflict')
    expect([(await filesOf(tenant)).length, await rowsOf(tenant)]).toEqual([1, { media: 1, loose: 0 }])
  })

  test.each([
    ['announced', 3_000_000],
    ['counted', 1_050_000],
  ])('beyond the plan’s limit is refused, and leaves nothing (%s)', async (_how, bytes) => {
    tenant = await app.tenant(undefined, { limits: { media_bytes: 1_000_000 } })
    const { status, body } = await tenant.upload(aVideo(bytes))
    expect([status, body.error.details]).toMatchObject([422, { reason: 'too_large', limit: 1_000_000 }])
    expect(body.error.details['received']).toBeGreaterThan(1_000_000)
    expect([await filesOf(tenant), await rowsOf(tenant)]).toEqual([[], { media: 0, loose: 0 }])
  })

  test('beyond what the plan stores is refused, also by several at once', async () => {
    tenant = await app.tenant(undefined, { limits: { storage_bytes: 12_000 } })
    const answers = await Promise.all(Array.from({ length: 6 }, () => tenant.upload(aVideo())))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429, 429])
    const refused = answers.find(({ status }) => status === 429)!
    expect(refused.body.error).toMatchObject({
      code: 'quota_exceeded',
      details: { limit: 'storage_bytes', max: 12_000 },
    })
    expect([(await filesOf(tenant)).length, await rowsOf(tenant)]).toEqual([2, { media: 2, loose: 0 }])
  })

  test('that breaks in the middle leaves no row and no file', async () => {
    const sending = request(`${app.url}/v1/media`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'multipart/form-data; boundary=b' },
    })
    const gone = new Promise((resolve) => sending.once('error', resolve))
    sending.write('--b\r\ncontent-disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n')
    sending.write(aVideo(3_000_000))
    await until('bytes are in the store', async () => (await filesOf(tenant)).length === 1)
    expect(await rowsOf(tenant)).toEqual({ media: 0, loose: 1 })
    sending.destroy()
    await gone
    await until('the file is gone', async () => (await filesOf(tenant)).length === 0)
    await until('nothing is noted', async () => (await rowsOf(tenant)).loose === 0)
  })

  test('of 400 MB takes no more memory than one of nothing', async () => {
    const before = await residentMb([app.api!.pid])
    const part = randomBytes(1_000_000)
    const file = new File([aVideo(), ...Array.from({ length: 400 }, () => part)], 'long.mp4')
    const form = new FormData()
    form.set('file', file)
    let most = 0
    let looks = 0
    const sent = tenant.call('POST', '/v1/media', form)
    const over = sent.then(
      () => true,
      () => true,
    )
    await until('it has arrived', async () => {
      most = Math.max(most, await residentMb([app.api!.pid]))
      looks++
      return Promise.race([over, Promise.resolve(false)])
    })
    expect((await sent).status).toBe(200)
    expect(looks).toBeGreaterThan(3)
    expect(most - before).toBeLessThan(150)
  })

  const sendForm = async (boundary: string, body: string) => {
    const headers = {
      authorization: `Bearer ${tenant.key}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    }
    const response = await fetch(`${app.url}/v1/media`, { method: 'POST', headers, body })
    return [
      response.status,
      ((await response.json()) as { error: { details: { reason?: string } } }).error.details.reason,
    ]
  }
  const field = (name: string, value = 'x') =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

  test.each([
    ['no file', `${field('alt')}--b--\r\n`, undefined],
    ['an unknown field', `${field('prices')}--b--\r\n`, undefined],
    ['six fields', `${['1', '2', '3', '4', '5', '6'].map((name) => field(name)).join('')}--b--\r\n`, 'too_large'],
    ['a field of 9 kB', `${field('alt', 'x'.repeat(9_000))}--b--\r\n`, 'too_large'],
    ['no end', field('alt'), 'malformed_form'],
    ['no form', 'nonsense', 'malformed_form'],
  ])('with %s is refused', async (_what, body, reason) => {
    expect(await sendForm('b', body)).toEqual([422, reason])
  })

  test('that is JSON is refused', async () => {
    const { status, body } = await tenant.call('POST', '/v1/media', {})
    expect([status, body.error.details['reason']]).toEqual([422, 'unsupported_media_type'])
  })
})

test('assets are listed newest first, by kind and page by page, to their organisation alone', async () => {
  const video = (await tenant.upload(aVideo())).body.data
  const images = []
  for (let at = 0; at < 3; at++) images.unshift((await tenant.upload(await anImage())).body.data.id)
  const list = (query: string) => tenant.call<Media[]>('GET', `/v1/media${query}`)
  const ids = async (query: string) => (await list(query)).body.data.map(({ id }) => id)
  expect(await ids('')).toEqual([...images, video.id])
  expect(await ids('?kind=video')).toEqual([video.id])
  const first = await list('?kind=image&limit=2')
  expect(first.body.meta).toEqual({ next_cursor: images[1], has_more: true })
  expect(await ids(`?kind=image&limit=2&cursor=${images[1]}`)).toEqual([images[2]])
  const stranger = await app.tenant()
  expect((await stranger.call<Media[]>('GET', '/v1/media')).body.data).toEqual([])
  for (const method of ['GET', 'DELETE'])
    expect((await stranger.call(method, `/v1/media/id/${video.id}`)).status).toBe(404)
})

test('a deleted asset is gone, and its file with the next sweep; the same bytes are then a new asset', async () => {
  const bytes = await anImage()
  const { id } = (await tenant.upload(bytes)).body.data
  expect((await tenant.call('DELETE', `/v1/media/id/${id}`)).body.data).toEqual({ id, deleted: true })
  expect((await tenant.call('GET', `/v1/media/id/${id}`)).status).toBe(404)
  await until('the file is gone', async () => (await filesOf(tenant)).length === 0)
  expect((await tenant.upload(bytes)).body.data.id).not.toBe(id)
})

test('what a crash left behind is swept away after its hour, and nothing else', async () => {
  const kept = (await tenant.upload(await anImage())).body.data.id
  const blob = (name: string) => `org/${tenant.organisationId}/${name}`
  await app.sql`insert into loose_blobs values (${blob('old')}, now() - interval '1 second'), (${blob('young')}, now() + interval '59 minutes')`
  await until('the old one is gone', async () => (await rowsOf(tenant)).loose === 1)
  expect(await filesOf(tenant)).toEqual([kept])
})

describe('the address of a file', () => {
  test('serves it, whole and in parts, as what it is and as nothing that is carried out', async () => {
    const bytes = await anImage({ format: 'jpeg' })
    const { url } = (await tenant.upload(bytes, { filename: 'Größe 1.exe' })).body.data
    expect(new URL(url).pathname).toMatch(/\/Gr-e-1\.jpg$/)
    const whole = await fetch(url)
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true)
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'image/jpeg',
      'content-length': String(bytes.length),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'accept-ranges': 'bytes',
    })
    for (const [range, start, end] of [
      ['bytes=0-9', 0, 9],
      ['bytes=5-', 5, bytes.length - 1],
      ['bytes=-7', bytes.length - 7, bytes.length - 1],
      [`bytes=3-${bytes.length * 2}`, 3, bytes.length - 1],
    ] as const) {
      const part = await fetch(url, { headers: { range } })
      expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end}/${bytes.length}`])
      expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(start, end + 1))).toBe(true)
    }
    expect((await fetch(url, { headers: { range: `bytes=${bytes.length}-` } })).status).toBe(416)
    const head = await fetch(url, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)])
  })

  test('is good for an hour, for that file and name, and only as it was signed', async () => {
    const [one, two] = [
      (await tenant.upload(await anImage())).body.data,
      (await tenant.upload(await anImage())).body.data,
    ]
    const { searchParams } = new URL(one.url)
    expect(Number(searchParams.get('expires')) - Date.now() / 1000).toBeCloseTo(3_600, -2)
    const altered = [
      one.url.replace(one.id, two.id),
      one.url.replace('file.png', 'file.html'),
      one.url.replace(/expires=\d+/, 'expires=9999999999'),
      one.url.replace(/signature=./, 'signature='),
      one.url.replace(/\?.*/, ''),
    ]
    expect(await Promise.all(altered.map(async (url) => (await fetch(url)).status))).toEqual(altered.map(() => 404))
    await tenant.call('DELETE', `/v1/media/id/${one.id}`)
    expect((await fetch(one.url)).status).toBe(404)
  })
})
