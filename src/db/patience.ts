import { setTimeout as sleep } from 'node:timers/promises'

/** How long a migration waits for what; tests scale it down. */
export interface Patience {
  /** Everybody who wants the table queues behind a statement that waits for its lock: so long, and no longer. Less than PostgreSQL's `deadlock_timeout`
   *  of a second, so that of a migration and a request that wait for each other it is never the request that is refused. */
  lockTimeoutMs: number
  /** Between two tries, doubled each time. Whoever queued has gone through by then. */
  pauseFirstMs: number
  pauseLongestMs: number
  /** For one migration, all its tries together. */
  budgetMs: number
}

export const PATIENCE: Patience = { lockTimeoutMs: 800, pauseFirstMs: 250, pauseLongestMs: 5_000, budgetMs: 300_000 }

export interface Trying {
  patience: Patience
  /** One try. Null: done; else why not, in words. */
  attempt: (leftMs: number) => Promise<string | null>
  /** Told of each try that came to nothing. */
  onWait: (why: string) => void
}

/** Tries until it is done or the budget is used up; answers null, or why the last try came to nothing. There is at least one try. */
export async function tryPatiently({ patience, attempt, onWait }: Trying): Promise<string | null> {
  const deadline = performance.now() + patience.budgetMs
  for (let pauseMs = patience.pauseFirstMs; ; pauseMs = Math.min(2 * pauseMs, patience.pauseLongestMs)) {
    const why = await attempt(deadline - performance.now())
    if (why === null) return null
    const jittered = pauseMs * (0.5 + Math.random() / 2)
    if (performance.now() + jittered >= deadline) return why
    onWait(why)
    await sleep(jittered)
  }
}

/** Waits for what is under way on another connection, and looks meanwhile, again and again; answers what was seen last that was not null. */
export async function whileLooking(
  underWay: Promise<unknown>,
  { look, everyMs }: { look: () => Promise<string | null>; everyMs: number },
): Promise<string | null> {
  let seen: string | null = null
  const ended = underWay.then(
    () => true,
    () => true,
  )
  while (!(await Promise.race([ended, sleep(everyMs, false, { ref: false })])))
    // Who it was is good to know; that it cannot be seen is no reason to leave what is under way.
    seen = (await look().catch(() => null)) ?? seen
  return seen
}
