import type { Log } from '../log.js'

/** Where a part stands: it answered, it did not, or (a worker) it does not poll. */
export type CheckResult = 'ok' | 'away'

/** Asks one part; throws when it does not answer. Bounds its own time. */
export interface Check {
  ask(): Promise<unknown>
  /** Whether the process is of no use without it. */
  needed: boolean
  /** For how long it counts that it answered, in milliseconds; 1,000 by default, and at the most for one that did not. */
  freshMs?: number
}

/** What `/readyz` says. */
export interface ReadinessAnswer {
  status: 'ready' | 'starting' | 'unready' | 'draining'
  checks: Record<string, CheckResult>
}

const FRESH_MS = 1_000

type Phase = 'starting' | 'started' | 'draining'

/** Whether a process should get work: not before it says that it has started, nor once it drains. However many ask, a part is asked once in the time
 *  that its answer counts for. */
export class Readiness {
  private phase: Phase = 'starting'
  private readonly asked = new Map<string, { begunAt: number; freshMs: number; result: Promise<CheckResult> }>()
  private readonly seen = new Map<string, CheckResult>()

  constructor(
    private readonly checks: Record<string, Check>,
    private readonly log: Pick<Log, 'warn'>,
    /** Milliseconds of any clock that never goes back. */
    private readonly clock = () => performance.now(),
  ) {}

  /** What the process needs was there: from now on the checks decide. */
  started(): void {
    if (this.phase === 'starting') this.phase = 'started'
  }

  /** From now on: draining, whatever the checks say. */
  drain(): void {
    this.phase = 'draining'
  }

  /** Never throws: a part that does not answer is `away`. */
  async answer(): Promise<ReadinessAnswer> {
    const names = this.phase === 'draining' ? [] : Object.keys(this.checks)
    const results = await Promise.all(names.map((name) => this.recent(name)))
    return this.describe(names.map((name, at) => [name, results[at] ?? 'away']))
  }

  /** By the phase it is in now, which may not be the one in which the parts were asked. */
  private describe(results: [string, CheckResult][]): ReadinessAnswer {
    if (this.phase === 'draining') return { status: 'draining', checks: {} }
    const checks = Object.fromEntries(results)
    if (this.phase === 'starting') return { status: 'starting', checks }
    const ready = results.every(([name, result]) => result === 'ok' || !this.checks[name]?.needed)
    return { status: ready ? 'ready' : 'unready', checks }
  }

  private recent(name: string): Promise<CheckResult> {
    const now = this.clock()
    const { freshMs = FRESH_MS } = this.checks[name] ?? {}
    const last = this.asked.get(name)
    // Its age counts from when it began to ask, so that a slow check does not make it older than it says.
    if (last && now - last.begunAt < last.freshMs) return last.result
    const asked = { begunAt: now, freshMs, result: this.ask(name) }
    this.asked.set(name, asked)
    void asked.result.then((result) => {
      if (result === 'away') asked.freshMs = Math.min(freshMs, FRESH_MS)
    })
    return asked.result
  }

  private async ask(name: string): Promise<CheckResult> {
    try {
      await this.checks[name]?.ask()
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
