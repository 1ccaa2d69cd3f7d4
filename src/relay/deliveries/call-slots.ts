import type { Config } from '../../config.js'

/** One platform's calls in this process. */
interface Calls {
  underWay: number
  /** About how many were turned away and will come back. */
  turnedAway: number
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
  take(platform: string, concurrency = this.options.concurrency): Slot {
    const calls = this.callsOf(platform)
    if (calls.underWay >= concurrency) return { release: null, inMs: this.turnAway(calls, concurrency) }
    calls.underWay++
    calls.turnedAway = Math.max(0, calls.turnedAway - 1)
    const since = performance.now()
    return { release: () => this.release(calls, performance.now() - since) }
  }

  private release(calls: Calls, tookMs: number): void {
    calls.underWay--
    calls.usualMs = 0.8 * calls.usualMs + 0.2 * tookMs
    if (calls.underWay === 0) calls.turnedAway = 0
  }

  private turnAway(calls: Calls, concurrency: number): number {
    calls.turnedAway++
    const { fullRetryMs } = this.options
    const queueMs = (calls.turnedAway * calls.usualMs) / concurrency
    return Math.min(LONGEST_WAIT_MS, Math.max(fullRetryMs, queueMs)) * (0.5 + Math.random())
  }

  private callsOf(platform: string): Calls {
    const known = this.platforms.get(platform) ?? { underWay: 0, turnedAway: 0, usualMs: this.options.fullRetryMs }
    this.platforms.set(platform, known)
    return known
  }
}
