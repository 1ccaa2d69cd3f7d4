/** Whoever asks to wait longer is asked again after this. */
export const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000

/** `Retry-After` (RFC 9110 10.2.3), seconds or a date, as milliseconds from `now`, 24 hours at the most. */
export function readRetryAfter(value: string | null, now: number): number | null {
  if (!value) return null
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : null
}
