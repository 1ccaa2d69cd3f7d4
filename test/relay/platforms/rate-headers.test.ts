import { readRetryAfter } from '../../../src/retry-after.js'
import { readSpent, readWait } from '../../../src/relay/platforms/rate-headers.js'

test.each([
  ['5', 5_000],
  ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
  ['Sun, 01 Mar 2020 12:00:30 GMT', 0],
  ['999999999', 24 * 3_600_000],
  ['soon', null],
  [null, null],
])('Retry-After %s', (value, expected) => {
  expect(readRetryAfter(value, Date.parse('2026-03-01T12:00:00Z'))).toBe(expected)
})

test.each([
  [{ 'retry-after': '5', 'ratelimit-remaining': '0', 'ratelimit-reset': '1772366460' }, 5_000],
  [{ 'ratelimit-remaining': '0', 'ratelimit-reset': '1772366460' }, 60_000],
  [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1772366460' }, 60_000],
  [{ 'ratelimit-remaining': '0', 'ratelimit-reset': '60' }, 60_000],
  [{ 'ratelimit-remaining': '3', 'ratelimit-reset': '1772366460' }, null],
  [{ 'ratelimit-remaining': '0', 'ratelimit-reset': '1772366000' }, null],
  [{ 'ratelimit-remaining': '0', 'ratelimit-reset': 'soon' }, null],
  [{}, null],
])('a wait read from %j', (headers, expected) => {
  expect(readWait(headers, Date.parse('2026-03-01T12:00:00Z'))).toBe(expected)
})

test.each([
  [200, { 'ratelimit-remaining': '0', 'ratelimit-reset': '60' }, 60_000],
  [200, { 'ratelimit-remaining': '1', 'ratelimit-reset': '60' }, null],
  [429, { 'retry-after': '5' }, 5_000],
  [429, {}, null],
  [503, { 'retry-after': '5' }, null], // busy, which is no limit of this account
])('a limit that is used up, read from a %i with %j', (status, headers, expected) => {
  expect(readSpent(status, headers, Date.parse('2026-03-01T12:00:00Z'))).toBe(expected)
})
