import type { Response } from 'express'
import { countRequest, type RateWindow } from '../../src/accounts/rate-window.js'
import type { Caller } from '../../src/accounts/schema.js'
import type { Database } from '../../src/db/client.js'
import { AppError } from '../../src/errors.js'
import type { RequestMeter } from '../../src/operations/meters.js'

/** One window per key. A key over its limit is refused from memory until its window ends, so that it costs the database nothing. */
export class RateLimiter {
  /** With the moment it ends, by this process's own unchanging clock. */
  private readonly blocked = new Map<string, { window: RateWindow; endsAt: number }>()

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
    this.meter.refused()
    const known = this.blocked.get(id) ?? { window, endsAt: performance.now() + window.resetInMs }
    this.blocked.set(id, known)
    throw new AppError('rate_limited', `This key may make ${window.limit} requests a minute.`, {
      retry_after: Math.max(1, Math.ceil((known.endsAt - performance.now()) / 1000)),
    })
  }

  private stillBlocked(id: string): RateWindow | null {
    const known = this.blocked.get(id)
    if (!known) return null
    if (performance.now() < known.endsAt) return known.window
    this.blocked.delete(id)
    return null
  }
}
