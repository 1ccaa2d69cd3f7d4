import { LONGEST_RETRY_AFTER_MS } from '../../retry-after.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** How long after the attempt before each one follows (Standard Webhooks 1.0): ten attempts within 76 to 91 hours. */
const GAPS = [0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
const HOLDS: ReadonlySet<number> = new Set([429, 502, 503, 504])
const DEFAULT_HOLD_MS = MINUTE

/** What an attempt brought. `error` is a sentence for the endpoint's owner. */
export interface Outcome {
  /** For metrics; of a fixed set. */
  result: 'succeeded' | 'refused' | 'redirected' | 'timeout' | 'unreachable' | 'not_allowed'
  httpStatus: number | null
  error: string | null
  excerpt: string | null
  retryAfterMs: number | null
  durationMs: number
}

/** Delays as the configuration scales them. */
export interface Scaled {
  timeScale: number
}

/** Milliseconds from the failure number `failures` of a delivery to its next attempt; null after the tenth. Spread upwards by a fifth; `Retry-After`
 *  of a 429 or 503 only lengthens it. */
export function nextGap(
  failures: number,
  { httpStatus, retryAfterMs }: Pick<Outcome, 'httpStatus' | 'retryAfterMs'>,
  { timeScale, random }: Scaled & { random: number },
): number | null {
  const gap = GAPS[failures]
  if (gap === undefined) return null
  const asked = httpStatus === 429 || httpStatus === 503 ? (retryAfterMs ?? 0) : 0
  return Math.min(Math.max(gap * timeScale * (1 + random / 5), asked), LONGEST_RETRY_AFTER_MS * 1.2)
}

/** For how long the whole endpoint is left alone after this answer; null when it did not ask for that. */
export function holdFor(
  { httpStatus, retryAfterMs }: Pick<Outcome, 'httpStatus' | 'retryAfterMs'>,
  { timeScale }: Scaled,
): number | null {
  if (httpStatus === null || !HOLDS.has(httpStatus)) return null
  return retryAfterMs ?? DEFAULT_HOLD_MS * timeScale
}

/** How often an endpoint behind an open breaker is tried. */
export function probeEvery({ timeScale }: Scaled): number {
  return MINUTE * timeScale
}

/** What is known of an endpoint after a failed attempt. Milliseconds, by the database's clock. */
export interface Health {
  /** Attempts that ended within five minutes and since the breaker was last closed, and how many of them failed. */
  recent: number
  recentFailed: number
  /** Failed attempts since the last success, and since when they are. */
  failedAttempts: number
  failingForMs: number
  /** Since the last success, or since it was made, changed or switched on. */
  notWellForMs: number
}

/** Whether the breaker of an endpoint opens. */
export function breakerOpens({ recent, recentFailed }: Health): boolean {
  return recent >= 10 && recentFailed >= recent * 0.7
}

/** Why an endpoint is switched off after a failed attempt; null: it is not. A receiver that says Gone means it; others are given five days. */
export function disableReason({ httpStatus }: Pick<Outcome, 'httpStatus'>, health: Health): 'gone' | 'failing' | null {
  if (httpStatus === 410) return 'gone'
  const given = health.notWellForMs >= 5 * 24 * HOUR && health.failingForMs >= 12 * HOUR
  return given && health.failedAttempts >= 10 ? 'failing' : null
}

/** Deliveries in flight at once: to one endpoint, and of one organisation. An endpoint that failed last or never took anything has one, and cannot have
 *  the last places of its organisation; further ones than its first an endpoint gets only
 *  while few are taken. So of the fifty endpoints of a plan those that hang leave room for those that answer. */
const IN_FLIGHT = { endpoint: 4, organisation: 64, organisationUnproven: 48, organisationWide: 8 } as const

/** How many more deliveries an endpoint may have in flight now, of which it has `own`. */
export function roomFor({ proven, own, organisation }: { proven: boolean; own: number; organisation: number }): number {
  const places = proven ? IN_FLIGHT.organisation : IN_FLIGHT.organisationUnproven
  const first = own === 0 && organisation < places ? 1 : 0
  if (!proven) return first
  const wider = Math.min(IN_FLIGHT.endpoint - own, IN_FLIGHT.organisationWide - organisation)
  return Math.max(first, wider)
}
