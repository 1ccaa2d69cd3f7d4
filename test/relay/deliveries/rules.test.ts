import { ERRORS, type ErrorCode } from '../../../src/errors.js'
import { ATTEMPT_BUDGET, backoffMs, judge } from '../../../src/relay/deliveries/rules.js'

const pace = {
  callTimeoutMs: 30_000,
  callGraceMs: 5_000,
  lookUpForMs: 86_400_000,
  retryFirstMs: 5_000,
  retryLongestMs: 900_000,
}
const even = { pace, random: 0.5 }

test('the wait doubles from five seconds up to a quarter of an hour', () => {
  expect([1, 2, 3, 8, 9, 30].map((attempts) => backoffMs(attempts, pace, 0.5))).toEqual([
    5_000, 10_000, 20_000, 640_000, 900_000, 900_000,
  ])
})

test('the wait is spread by a fifth to either side', () => {
  expect(backoffMs(1, pace, 0)).toBe(4_000)
  expect(backoffMs(1, pace, 0.999999)).toBeCloseTo(6_000, -1)
})

test('what the platform asks for lengthens the wait and never shortens it', () => {
  expect(judge({ code: 'rate_limited', retryAfterMs: 60_000 }, ['rate_limited'], even)).toMatchObject({ inMs: 60_000 })
  expect(judge({ code: 'rate_limited', retryAfterMs: 1_000 }, ['rate_limited'], even)).toMatchObject({ inMs: 5_000 })
})

test('the budget ends a delivery at its last attempt, not before', () => {
  const past = (length: number) => Array.from({ length }, () => 'platform_unavailable')
  expect(judge({ code: 'platform_unavailable', retryAfterMs: null }, past(ATTEMPT_BUDGET - 1), even).kind).toBe('retry')
  expect(judge({ code: 'platform_unavailable', retryAfterMs: null }, past(ATTEMPT_BUDGET), even)).toEqual({
    kind: 'settle',
    status: 'failed',
  })
})

test('a renewed token and a pause do not count against the budget', () => {
  const past = [
    'auth_expired',
    'publishing_paused',
    'publishing_paused',
    ...Array.from({ length: ATTEMPT_BUDGET - 1 }, () => 'platform_error'),
  ]
  expect(judge({ code: 'platform_error', retryAfterMs: null }, past, even).kind).toBe('retry')
})

test('a token is renewed once, then the refusal stands', () => {
  expect(judge({ code: 'auth_expired', retryAfterMs: null }, ['auth_expired'], even)).toEqual({
    kind: 'retry',
    inMs: 0,
    refresh: true,
  })
  expect(judge({ code: 'auth_expired', retryAfterMs: null }, ['auth_expired', 'auth_expired'], even)).toEqual({
    kind: 'settle',
    status: 'failed',
  })
})

test('a token that lapses again later is renewed again', () => {
  const past = ['auth_expired', 'rate_limited', 'auth_expired']
  expect(judge({ code: 'auth_expired', retryAfterMs: null }, past, even)).toMatchObject({
    kind: 'retry',
    refresh: true,
  })
})

test('a pause is never final', () => {
  const past = Array.from({ length: 100 }, () => 'publishing_paused')
  expect(judge({ code: 'publishing_paused', retryAfterMs: null }, past, even).kind).toBe('retry')
})

test.each(Object.keys(ERRORS) as ErrorCode[])('%s ends as the shapes say', (code) => {
  const rejected = [
    'validation_failed',
    'content_rejected',
    'media_rejected',
    'unsupported_capability',
    'duplicate_content',
  ]
  expect(ERRORS[code].settles).toBe(rejected.includes(code) ? 'rejected' : 'failed')
})
