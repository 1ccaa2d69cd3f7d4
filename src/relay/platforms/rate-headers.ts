import { LONGEST_RETRY_AFTER_MS, readRetryAfter } from '../../retry-after.js'

type Headers = Record<string, string | string[] | undefined>

const readHeader = (headers: Headers, name: string) =>
  [headers[name], headers[`x-${name}`]].flat().find((value) => value !== undefined) ?? null

/** When the platform answered, by its own clock (`Date`, RFC 9110 6.6.1), which the moments it names are of; ours where it does not say. */
function dateOf(headers: Headers): number {
  const date = Date.parse(String(headers['date']))
  return Number.isNaN(date) ? Date.now() : date
}

/** How long a refusal asks to wait: `Retry-After`, else, with nothing left of a rate limit, until its reset. */
export function readWait(headers: Headers, now = dateOf(headers)): number | null {
  return readRetryAfter(readHeader(headers, 'retry-after'), now) ?? readReset(headers, now)
}

/** For how long nothing more will be taken, as any answer may say it: a 429 by what it asks to wait, others by a rate limit that is used up. */
export function readSpent(status: number, headers: Headers, now = dateOf(headers)): number | null {
  return status === 429 ? readWait(headers, now) : readReset(headers, now)
}

// Some send the moment, as Unix seconds or ISO 8601, others how long it takes (draft-ietf-httpapi-ratelimit-headers).
const UNIX_SECONDS_FROM = 1_000_000_000

function readReset(headers: Headers, now: number): number | null {
  if (readHeader(headers, 'ratelimit-remaining') !== '0') return null
  const told = String(readHeader(headers, 'ratelimit-reset'))
  const reset = /^[\d.]+$/.test(told) ? Number(told) : Date.parse(told) / 1000
  const resetMs = reset * 1000 - (reset > UNIX_SECONDS_FROM ? now : 0)
  return resetMs > 0 ? Math.min(resetMs, LONGEST_RETRY_AFTER_MS) : null
}
