import { setTimeout as sleep } from 'node:timers/promises'

/** Asks until the answer is neither null, undefined nor false, and gives it back; throws what was waited for after `withinMs`. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  withinMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer !== null && answer !== undefined && answer !== false) return answer
    if (Date.now() > deadline) throw new Error(`Waited ${withinMs / 1000} s in vain: ${what}`)
    await sleep(30)
  }
}
