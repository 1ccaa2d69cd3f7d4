import type { Response } from 'express'
import { countRequest, type RateWindow } from '../../src/accounts/rate-window.js'
import type { Caller } from '../../src/accounts/schema.js'
import type { Database } from '../../src/db/client.js'
import { AppError } from '../../src/errors.js'
import type { RequestMeter } from '../../src/operations/meters.js'

/** One window per key. A key over its limit is refused from memory until its window ends, so that it costs the database nothing. */
export class RateLimiter {
  private readonly blocked = new Map<string, RateWindow>()

  constructor(
    private readonly database: Database,
    private readonly meter: Pick<RequestMeter, 'refused'>,
  ) {}

  /** Counts the request and writes the headers; throws 429 rate_limited. */
  async admit({ id, limits }: Caller, response: Response): Promise<void> {
    const window = this.stillBlocked(id) ?? (await countRequest(this.database, id, limits.requests_per_minute))
    response.set({
      'x-ratelimit-limit': String(window.limit),
      'x-ratelimit-remaining': String(window.remaining),
      'x-ratelimit-reset': String(window.reset),
    })
    if (!window.exceeded) return
    this.blocked.set(id, window)
    this.meter.refused()
    const retryAfter = Math.max(1, Math.ceil(window.reset - Date.now() / 1000))
    throw new AppError('rate_limited', `This key may make ${window.limit} requests a minute.`, {
      retry_after: retryAfter,
    })
  }

  private stillBlocked(id: string): RateWindow | null {
    const window = this.blocked.get(id)
    if (!window) return null
    if (Date.now() / 1000 < window.reset) return window
    this.blocked.delete(id)
    return null
  }
}
