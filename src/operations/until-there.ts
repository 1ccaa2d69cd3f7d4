import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.js'

const ASK_EVERY_MS = 1_000
const SAY_EVERY_MS = 30_000

interface Awaited<T> {
  /** What is waited for, as the log names it. */
  part: string
  ask: () => Promise<T>
  /** What is worth waiting for; any other failure is thrown at once. */
  isAway: (error: unknown) => boolean
  log: Pick<Log, 'warn' | 'info'>
}

/** Asks for something that a start needs until it is there, and answers it: a process comes up by itself, in whatever order the parts do. */
export async function untilThere<T>({ part, ask, isAway, log }: Awaited<T>): Promise<T> {
  for (let saidAt = -Infinity; ;) {
    try {
      const answer = await ask()
      if (saidAt > -Infinity) log.info({ part }, 'start.there')
      return answer
    } catch (error) {
      if (!isAway(error)) throw error
      if (performance.now() - saidAt >= SAY_EVERY_MS) {
        log.warn({ error, part }, 'start.waiting')
        saidAt = performance.now()
      }
      await sleep(ASK_EVERY_MS)
    }
  }
}
