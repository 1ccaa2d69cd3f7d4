import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { createInnerClient } from '../../../src/egress/inner.js'
import { createPlatformHttp, settleCall } from '../../../src/relay/platforms/http.js'

let server: Server
let origin: string
let answer: RequestListener

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

const Answer = z.object({ id: z.string() })
const refusals = [
  { status: 422, body: /media/, code: 'media_rejected' },
  { status: 422, code: 'content_rejected' },
] as const

function bind(more: { origin?: string; beforePublish?: () => Promise<void>; onLimit?: (ms: number) => void } = {}) {
  return createPlatformHttp({
    origin,
    refusals,
    client: createInnerClient(),
    timeoutMs: 300,
    beforePublish: async () => undefined,
    ...more,
  })
}

const reply =
  (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)

test.each<[string, RequestListener, object]>([
  [
    'a refusal of the table',
    reply(422, '{"error":"bad media"}'),
    { code: 'media_rejected', certainty: 'refused', httpStatus: 422 },
  ],
  [
    'another of the same status',
    reply(422, '{"error":"bad text"}'),
    { code: 'content_rejected', certainty: 'refused' },
  ],
  ['a 4xx nobody classified', reply(418, '{}'), { code: 'platform_error', certainty: 'refused' }],
  ['a page of HTML with a 4xx', reply(404, '<html>'), { certainty: 'ambiguous', answered: false }],
  [
    'a 429 with Retry-After',
    reply(429, '', { 'retry-after': '7' }),
    { code: 'rate_limited', certainty: 'refused', retryAfterMs: 7_000 },
  ],
  [
    'a 503, perhaps of a gateway',
    reply(503, '{}'),
    { code: 'platform_unavailable', certainty: 'ambiguous', answered: false },
  ],
  ['a 500', reply(500, '{}'), { code: 'platform_error', certainty: 'ambiguous', answered: true }],
  ['a 200 of another shape', reply(200, '{"no":"id"}'), { certainty: 'ambiguous', answered: true }],
  ['a 200 of HTML', reply(200, '<html>'), { certainty: 'ambiguous', answered: false }],
  ['a redirect', reply(302, '', { location: 'http://127.0.0.1:1/' }), { certainty: 'ambiguous', answered: false }],
  [
    'a cut line',
    (request) => void request.socket.destroy(),
    { code: 'platform_unavailable', certainty: 'ambiguous', answered: false },
  ],
  ['no answer at all', () => undefined, { code: 'platform_unavailable', certainty: 'ambiguous', answered: false }],
  [
    'an answer without an end',
    (_request, response) => void response.writeHead(200).write('{'),
    { certainty: 'ambiguous', answered: false },
  ],
])('%s', async (_what, listener, failure) => {
  answer = listener
  const result = await settleCall(() => bind().publish('/posts', Answer, { json: {} }))
  expect(result).toMatchObject({ failure })
})

test('what a platform says is kept as a row can hold it, and without the credentials that were sent', async () => {
  const http = (headers: Record<string, string>) =>
    createPlatformHttp({
      origin,
      headers,
      refusals,
      client: createInnerClient(),
      timeoutMs: 300,
      beforePublish: async () => undefined,
    })
  answer = reply(422, `{"error":"text ${'x'.repeat(483)}😀 and more"}`)
  const cut = await settleCall(() => http({}).publish('/posts', Answer, { json: {} }))
  expect('failure' in cut && cut.failure.platformMessage?.isWellFormed()).toBe(true)
  answer = reply(422, '{"error":"bad token s3cret, bad password pa55\\u0000\0"}')
  const echo = await settleCall(() =>
    http({ authorization: 'Bearer s3cret' }).post('/posts', Answer, { json: { password: 'pa55' } }),
  )
  expect(echo).toMatchObject({
    failure: { platformMessage: '{"error":"bad token [redacted], bad password [redacted]\\u0000"}' },
  })
})

test('a call that takes too long says how long that was', async () => {
  answer = () => undefined
  const result = await settleCall(() => bind().publish('/posts', Answer))
  expect(result).toMatchObject({ failure: { platformMessage: 'No answer within 0.3 s', cause: 'TimeoutError' } })
})

test('a server that is not there was never reached', async () => {
  const result = await settleCall(() => bind({ origin: 'http://127.0.0.1:1' }).publish('/posts', Answer))
  expect(result).toMatchObject({ failure: { code: 'platform_unavailable', certainty: 'not_sent' } })
})

test('the attempt is committed as sent before the request leaves, and nothing leaves when that fails', async () => {
  const order: string[] = []
  answer = (_request, response) => {
    order.push('request')
    response.end('{"id":"1"}')
  }
  await bind({ beforePublish: async () => void order.push('committed') }).publish('/posts', Answer)
  expect(order).toEqual(['committed', 'request'])
  const fenced = bind({ beforePublish: () => Promise.reject(new Error('fenced')) })
  await expect(fenced.publish('/posts', Answer)).rejects.toThrow('fenced')
  expect(order).toHaveLength(2)
})

test('a second guarded request of one attempt is refused', async () => {
  answer = reply(200, '{"id":"1"}')
  const http = bind()
  await http.publish('/posts', Answer)
  await expect(http.publish('/posts', Answer)).rejects.toThrow('exactly one')
})

test('an error of our own is ambiguous only once something may have left', async () => {
  const broken = () => Promise.reject(new TypeError('bug'))
  expect(await settleCall(broken, () => true)).toMatchObject({
    failure: { code: 'platform_error', certainty: 'ambiguous' },
  })
  expect(await settleCall(broken, () => false)).toMatchObject({ failure: { certainty: 'not_sent' } })
})

test('a limit that is used up is told of by the guarded request, and by a 429 to any', async () => {
  const told: number[] = []
  const http = bind({ onLimit: (ms) => told.push(ms) })
  answer = reply(200, '{"id":"1"}', { 'ratelimit-remaining': '0', 'ratelimit-reset': '60' })
  await http.get('/me', Answer)
  expect(told).toEqual([])
  await http.publish('/posts', Answer)
  expect(told).toEqual([60_000])
  answer = reply(429, '', { 'retry-after': '7' })
  await settleCall(() => http.post('/uploads', Answer))
  expect(told).toEqual([60_000, 7_000])
})
