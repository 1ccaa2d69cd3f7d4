import { createHmac } from 'node:crypto'
import { writeBody } from '../../src/webhooks/deliveries/body.js'
import * as rules from '../../src/webhooks/deliveries/rules.js'
import { relaySignature, standardHeaders } from '../../src/webhooks/signature.js'

const failed = { httpStatus: 500, retryAfterMs: null }
const gaps = (random: number) =>
  Array.from({ length: 10 }, (_, at) => rules.nextGap(at + 1, failed, { timeScale: 1, random }))
const HOUR = 3_600_000

test('the schedule is that of Standard Webhooks, spread upwards by a fifth at the most', () => {
  expect(gaps(0)).toEqual(
    [5_000, 300_000, 1_800_000, 2, 5, 10, 14, 20, 24, null].map((gap) => (gap && gap < 100 ? gap * HOUR : gap)),
  )
  expect(gaps(1).slice(0, 3)).toEqual([6_000, 360_000, 2_160_000])
})

test.each([
  [429, 10_000, 10_000],
  [503, 10_000, 10_000],
  [503, 1_000, 5_000],
  [500, 10_000, 5_000],
])('Retry-After of a %i of %i ms makes the first gap %i ms: it only lengthens', (httpStatus, retryAfterMs, gap) => {
  expect(rules.nextGap(1, { httpStatus, retryAfterMs }, { timeScale: 1, random: 0 })).toBe(gap)
})

test.each([
  [429, null, 60_000],
  [502, 5_000, 5_000],
  [503, null, 60_000],
  [504, 90_000, 90_000],
  [500, 5_000, null],
  [null, null, null],
])('an answer of %p with Retry-After %p holds the endpoint for %p', (httpStatus, retryAfterMs, hold) => {
  expect(rules.holdFor({ httpStatus, retryAfterMs }, { timeScale: 1 })).toBe(hold)
})

test('the breaker opens at seven failures of ten and not with fewer attempts', () => {
  const opens = (recent: number, recentFailed: number) =>
    rules.breakerOpens({ recent, recentFailed, failedAttempts: 0, failingForMs: 0, notWellForMs: 0 })
  expect([opens(9, 9), opens(10, 6), opens(10, 7), opens(100, 70)]).toEqual([false, false, true, true])
})

test('endpoints that fail or never took anything leave room for those that answer', () => {
  const room = (proven: boolean, own: number, organisation: number) => rules.roomFor({ proven, own, organisation })
  expect([room(true, 0, 0), room(true, 3, 3), room(true, 4, 4)]).toEqual([4, 1, 0])
  expect([room(false, 0, 0), room(false, 1, 1)]).toEqual([1, 0])
  expect([room(true, 0, 7), room(true, 0, 8), room(true, 1, 8), room(true, 0, 63), room(true, 0, 64)]).toEqual([
    1, 1, 0, 1, 0,
  ])
  expect([room(false, 0, 47), room(false, 0, 48)]).toEqual([1, 0])
})

const event = (data: Record<string, unknown>) => ({ id: 'evt_1', type: 'post.failed', created_at: new Date(0), data })

test('a body is the same bytes each time, and one that is far too long keeps its ids and loses its lists', () => {
  const small = event({ post_id: 'post_1', deliveries: [{ platform: 'x' }] })
  expect(writeBody(small)).toEqual(writeBody(structuredClone(small)))
  expect(JSON.parse(writeBody(small).toString())).toEqual({ ...small, created_at: '1970-01-01T00:00:00.000Z' })
  const long = event({
    post_id: 'post_1',
    external_id: null,
    deliveries: Array.from({ length: 9_000 }, () => ({ remote_url: 'x'.repeat(30) })),
  })
  expect(JSON.parse(writeBody(long).toString()).data).toEqual({ post_id: 'post_1', external_id: null })
})

test('the signature is the one the documents define, byte for byte', () => {
  const [body, at] = [Buffer.from('{"a":"ü"}'), new Date(1_700_000_000_999)]
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const hex = createHmac('sha256', secret).update('1700000000.{"a":"ü"}').digest('hex')
  expect(relaySignature(body, { secrets: [secret], at })).toBe(`t=1700000000,v1=${hex}`)
  const base64 = createHmac('sha256', Buffer.alloc(32, 7)).update('whd_1.1700000000.{"a":"ü"}').digest('base64')
  expect(standardHeaders(body, { id: 'whd_1', secrets: [secret, secret], at })).toEqual({
    'webhook-id': 'whd_1',
    'webhook-timestamp': '1700000000',
    'webhook-signature': `v1,${base64} v1,${base64}`,
  })
})
