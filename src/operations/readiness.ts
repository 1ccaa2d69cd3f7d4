import type { Log } from '../log.js'

/** Where a part stands: it answered, it did not, or (a worker) it does not poll. */
export type CheckResult = 'ok' | 'away'

/** Asks one part; throws when it does not answer. Bounds its own time. */
export interface Check {
  ask(): Promise<unknown>
  /** Whether the process is of no use without it. */
  needed: boolean
}

/** What `/readyz` says. */
export interface ReadinessAnswer {
  status: 'ready' | 'unready' | 'draining'
  checks: Record<string, CheckResult>
}

const FRESH_MS = 1_000

/** Whether a process should get work. However many ask, a second costs one check; no answer is older than that. */
export class Readiness {
  private draining = false
  private latest: { begunAt: number; answer: Promise<ReadinessAnswer> } | null = null
  private readonly seen = new Map<string, CheckResult>()

  constructor(
    private readonly checks: Record<string, Check>,
    private readonly log: Pick<Log, 'warn'>,
    /** Milliseconds of any clock that never goes back. */
    private readonly clock = () => performance.now(),
  ) {}

  /** From now on: draining, whatever the checks say. */
  drain(): void {
    this.draining = true
  }

  /** Never throws: a part that does not answer is `away`. */
  async answer(): Promise<ReadinessAnswer> {
    if (this.draining) return { status: 'draining', checks: {} }
    const now = this.clock()
    // Its age counts from when it began to ask, so that a slow check does not make it older than it says.
    if (!this.latest || now - this.latest.begunAt >= FRESH_MS) this.latest = { begunAt: now, answer: this.askAll() }
    const answer = await this.latest.answer
    return this.draining ? { status: 'draining', checks: {} } : answer
  }

  private async askAll(): Promise<ReadinessAnswer> {
    const results = await Promise.all(
      Object.entries(this.checks).map(async ([name, check]) => [name, await this.ask(name, check)] as const),
    )
    const ready = results.every(([name, result]) => result === 'ok' || !this.checks[name]?.needed)
    return { status: ready ? 'ready' : 'unready', checks: Object.fromEntries(results) }
  }

  private async ask(name: string, { ask }: Check): Promise<CheckResult> {
    try {
      await ask()
      this.note(name, 'ok', null)
      return 'ok'
    } catch (error) {
      this.note(name, 'away', error)
      return 'away'
    }
  }

  /** One line when it changes, not one a second. */
  private note(name: string, result: CheckResult, error: unknown): void {
    if ((this.seen.get(name) ?? 'ok') !== result)
      this.log.warn({ ...(error !== null && { error }), part: name, result }, 'readiness.changed')
    this.seen.set(name, result)
  }
}

/** The status and the headers that go with an answer. */
export function statusOf({ status }: ReadinessAnswer): { code: number; headers: Record<string, string> } {
  return status === 'ready' ? { code: 200, headers: {} } : { code: 503, headers: { 'retry-after': '1' } }
}
