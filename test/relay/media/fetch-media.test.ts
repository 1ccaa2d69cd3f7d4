import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readdir } from 'node:fs/promises'
import type { Media } from '../../../src/relay/media/schema.js'
import type { Post } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { FakeBluesky } from '../../support/fake-bluesky.js'
import { anImage, anImageBomb, aVideo } from '../../support/files.js'
import { until } from '../../support/until.js'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** What the server of files answers, by path, and how often it was asked. */
const answers = new Map<string, Answer>()
const asked = new Map<string, number>()
const bluesky = new FakeBluesky()
let sentBytes = 0
let reached = 0
let app: App
let tenant: Tenant
let host: string

const files = createServer((request, response) => {
  const path = request.url ?? ''
  asked.set(path, (asked.get(path) ?? 0) + 1)
  const answer = answers.get(path)
  if (answer) return answer(request, response)
  response.writeHead(404).end()
})
const victim = createServer((_request, response) => void response.end('reached')).on('connection', () => void reached++)

beforeAll(async () => {
  for (const server of [files, victim]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await bluesky.start()
  bluesky.letGo()
  host = `127.0.0.1:${(files.address() as AddressInfo).port}`
  app = await startApp({ env: { EGRESS_ALLOW: `${host},${bluesky.host}`, FETCH_TIMEOUT_MS: '1500' } })
})
beforeEach(async () => {
  tenant = await app.tenant(undefined, { limits: { media_bytes: 2_000_000 } })
})
afterAll(async () => {
  await app.stop()
  for (const server of [files, victim]) {
    server.closeAllConnections()
    server.close()
  }
  bluesky.stop()
})

let paths = 0
function serve(answer: Answer, ending = '.png'): string {
  const path = `/${paths++}${ending}`
  answers.set(path, answer)
  return `http://${host}${path}`
}
const serveBytes = (bytes: Uint8Array, ending?: string) =>
  serve((_request, response) => void response.end(bytes), ending)
const timesAsked = (url: string) => asked.get(new URL(url).pathname) ?? 0

async function publish(url: string, connections: string[], more: object = {}): Promise<Post> {
  const body = { content: { text: `with ${url}`, media: [{ url, alt: 'seen' }] }, connection_ids: connections, ...more }
  const answer = await tenant.call<Post>('POST', '/v1/posts', body)
  expect(answer.body.error).toBeUndefined()
  return tenant.settled(answer.body.data.id)
}
const mediaOf = async () => (await tenant.call<Media[]>('GET', '/v1/media')).body.data
const filesKept = () => readdir(`${app.mediaDir}/org/${tenant.organisationId}`).catch(() => [])

test('an address is fetched once for all deliveries of a post, becomes an asset, and is what the platform gets', async () => {
  const bytes = await anImage({ format: 'jpeg' })
  const url = serveBytes(bytes, '/of/the/day')
  const connections = await Promise.all(Array.from({ length: 8 }, (_, at) => tenant.connect(`account ${at}`)))
  const post = await publish(url, connections)
  expect([post.status, timesAsked(url)]).toEqual(['published', 1])
  const [asset, ...others] = await mediaOf()
  expect([asset, others]).toMatchObject([{ content_type: 'image/jpeg', bytes: bytes.length, filename: 'day' }, []])
  // The guess has been replaced by what is so: nothing had to be changed.
  expect(post.warnings).toEqual([])
  const sent = await app.sql<{ media: unknown }[]>`
    select r.media from deliveries d join sandbox_requests r on r.post_id = d.remote_id where d.post_id = ${post.id}`
  expect(sent.map(({ media }) => media)).toEqual(
    connections.map(() => [{ id: asset!.id, sha256: asset!.sha256, kind: 'image', alt: 'seen' }]),
  )
})

test('what turns out to be of another kind is dropped with a warning; strict refuses it', async () => {
  const connection = await bluesky.connect(tenant)
  const url = serveBytes(aVideo())
  const lenient = await publish(url, [connection])
  expect([lenient.status, lenient.warnings]).toMatchObject([
    'published',
    [{ code: 'media_dropped', path: 'content.media.0', message: 'Bluesky takes no video', connection_id: connection }],
  ])
  const strict = await publish(url, [connection], { validation: 'strict', allow_duplicate: true })
  expect(strict.deliveries[0]).toMatchObject({ status: 'rejected', error_code: 'media_rejected' })
})

test('three redirects are followed, a fourth is not', async () => {
  const end = serveBytes(await anImage())
  const hop = (to: string) => serve((_request, response) => void response.writeHead(302, { location: to }).end())
  const connection = await tenant.connect()
  const three = hop(hop(hop(new URL(end).pathname)))
  expect((await publish(three, [connection])).status).toBe('published')
  const refused = await publish(hop(three), [connection])
  expect(refused.deliveries[0]).toMatchObject({
    error_code: 'media_rejected',
    error: { message: expect.stringContaining('more than 3 times') },
  })
})

test('a server that fails for a moment is asked again', async () => {
  const bytes = await anImage()
  let times = 0
  const url = serve((_request, response) => void (++times < 3 ? response.writeHead(503).end() : response.end(bytes)))
  expect((await publish(url, [await tenant.connect()])).status).toBe('published')
  expect(times).toBe(3)
})

const onward = (location: string) => (): string =>
  serve((_request, response) => void response.writeHead(302, { location }).end())
const victimAt = () => `http://127.0.0.1:${(victim.address() as AddressInfo).port}/a.png`

test.each<[string, () => string | Promise<string>, RegExp]>([
  ['on loopback', victimAt, /not allowed/],
  ['on loopback behind a redirect', () => onward(victimAt())(), /not allowed/],
  ['of a cloud’s metadata', () => 'http://169.254.169.254/latest/meta-data', /not allowed/],
  ['of a cloud’s metadata behind a redirect', onward('http://169.254.169.254/latest/meta-data'), /not allowed/],
  ['of a file behind a redirect', onward('file:///etc/passwd'), /no http\(s\) address/],
  ['that nobody has', () => `http://${host}/nothing.png`, /answered 404/],
  ['of text named .png', () => serveBytes(Buffer.from('text '.repeat(2_000))), /by its content/],
  ['of an SVG', () => serveBytes(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), '.svg'), /by its content/],
  ['of an image of 2.5 gigapixels', async () => serveBytes(await anImageBomb()), /cannot be read/],
  ['of 10 GB, as it says', () => serve(endless({ announced: true }), '.mp4'), /larger than 2000000 bytes/],
  ['of 10 GB, untold', () => serve(endless({ announced: false }), '.mp4'), /larger than 2000000 bytes/],
  ['that sends a byte now and then', () => serve(drip), /in time/],
  ['that answers nothing', () => serve(() => undefined), /in time/],
])('the address %s is media_rejected, leaves nothing and costs little', async (_what, make, message) => {
  sentBytes = reached = 0
  const url = await make()
  const post = await publish(url, [await tenant.connect()])
  expect([post.status, post.deliveries[0]]).toMatchObject([
    'failed',
    { status: 'rejected', error_code: 'media_rejected', error: { message: expect.stringMatching(message) } },
  ])
  expect(reached).toBe(0)
  expect(sentBytes).toBeLessThan(20_000_000)
  expect([await mediaOf(), await filesKept()]).toEqual([[], []])
  expect(await app.timesAccepted(`with ${url}`)).toBe(0)
})

/** Sends as fast as it is read, and counts. */
function endless({ announced }: { announced: boolean }): Answer {
  return (_request, response) => {
    if (announced) response.setHeader('content-length', 10_000_000_000)
    const chunk = Buffer.alloc(100_000)
    const more = () => {
      while (!response.destroyed && sentBytes < 10_000_000_000) {
        sentBytes += chunk.length
        if (!response.write(chunk)) return void response.once('drain', more)
      }
    }
    response.write(aVideo())
    more()
  }
}

function drip(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('content-length', 1_000)
  const dripping = setInterval(() => response.write('x'), 100)
  response.once('close', () => clearInterval(dripping))
}

test('a worker that is killed while it fetches leaves it to another', async () => {
  const bytes = await anImage()
  let hold = true
  const url = serve((_request, response) => void (hold ? undefined : response.end(bytes)))
  const connection = await tenant.connect()
  const { id } = (
    await tenant.call<Post>('POST', '/v1/posts', {
      content: { text: 'killed', media: [{ url }] },
      connection_ids: [connection],
    })
  ).body.data
  await until('it is fetching', () => timesAsked(url) === 1)
  app.worker!.kill('SIGKILL')
  hold = false
  await app.worker!.exited.catch(() => undefined)
  await app.startWorker()
  expect((await tenant.settled(id, 120_000)).status).toBe('published')
  expect(await app.timesAccepted('killed')).toBe(1)
})
