import type { Config } from '../../config.js'

/** One platform's calls in this process. */
interface Calls {
  underWay: number
  /** The deliveries that were turned away and will come back. */
  turnedAway: Set<string>
  /** How long a call takes, as the last ones did. */
  usualMs: number
}

/** A slot for the calls of one delivery, or when to ask for one again. */
export type Slot = { release(): void } | { release: null; inMs: number }

const LONGEST_WAIT_MS = 30_000

/** The calls under way of one process, so many per platform at the most: one that hangs leaves the other slots to the others. Whoever is turned away
 *  comes back after about as long as those before it will take, so a long queue asks as seldom as a short one. */
export class CallSlots {
  private readonly platforms = new Map<string, Calls>()

  constructor(private readonly options: Pick<Config['gates'], 'concurrency' | 'fullRetryMs'>) {}

  /** `concurrency` is the platform's own limit; the process's usual one where it has none. */
  take(deliveryId: string, platform: string, concurrency = this.options.concurrency): Slot {
    const calls = this.callsOf(platform)
    if (calls.underWay >= concurrency) {
      calls.turnedAway.add(deliveryId)
      return { release: null, inMs: this.waitOf(calls, concurrency) }
    }
    calls.underWay++
    calls.turnedAway.delete(deliveryId)
    const since = performance.now()
    return { release: () => this.release(calls, performance.now() - since) }
  }

  private release(calls: Calls, tookMs: number): void {
    calls.underWay--
    calls.usualMs = (calls.usualMs + tookMs) / 2
    // Some never come back here: cancelled, or taken by another worker.
    if (calls.underWay === 0) calls.turnedAway.clear()
  }

  private waitOf({ turnedAway, usualMs }: Calls, concurrency: number): number {
    const { fullRetryMs } = this.options
    const queueMs = (turnedAway.size * usualMs) / concurrency
    return Math.min(LONGEST_WAIT_MS, Math.max(fullRetryMs, queueMs)) * (0.5 + Math.random())
  }

  private callsOf(platform: string): Calls {
    const known = this.platforms.get(platform) ?? {
      underWay: 0,
      turnedAway: new Set(),
      usualMs: this.options.fullRetryMs,
    }
    this.platforms.set(platform, known)
    return known
  }
}
