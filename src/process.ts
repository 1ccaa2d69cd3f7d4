/** A process of ours once it is ready: what its parent wants to know, and how it ends in good order. */
interface Running {
  facts: Record<string, unknown>
  stop(): Promise<void>
  /** After this long an end in good order is given up. */
  stopWithinMs: number
  /** Rejects when it cannot go on, and is to be started anew. */
  failed?: Promise<never>
}

/** Starts a process and ends it in good order on SIGTERM, SIGINT, or when the parent that started it over IPC is gone; one that is asked to end while it
 *  still starts has nothing under way and ends at once. A start that fails prints its one sentence and exits with 1, as does an end that takes too long;
 *  so does, after it has ended in good order, a process that cannot go on. */
export async function runProcess(start: () => Promise<Running>): Promise<void> {
  let running: Running | null = null
  let stopping = false
  const stop = (after = () => process.exit(0)) => {
    if (!running) process.exit(0)
    if (stopping) return
    stopping = true
    const seconds = running.stopWithinMs / 1000
    setTimeout(() => fail(new Error(`Did not end in good order within ${seconds} s.`)), running.stopWithinMs).unref()
    running.stop().then(after, fail)
  }
  // Before the start: as the first process of a container it would be deaf to a signal that it does not listen for.
  process.on('SIGTERM', () => stop()).on('SIGINT', () => stop())
  if (process.send) process.once('disconnect', () => stop())
  running = await start().catch((error: unknown) => fail(error))
  running.failed?.catch((error: unknown) => stop(() => fail(error)))
  process.send?.({ ready: true, ...running.facts })
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
