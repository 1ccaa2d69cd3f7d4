/** A process of ours once it is ready: what its parent wants to know, and how it ends in good order. */
interface Running {
  facts: Record<string, unknown>
  stop(): Promise<void>
}

/** Starts a process and ends it in good order on SIGTERM, SIGINT, or when the parent that started it over IPC is gone.
 *  A start that fails prints its one sentence and exits with 1. */
export async function runProcess(start: () => Promise<Running>): Promise<void> {
  const running = await start().catch((error: unknown) => fail(error))
  let stopping = false
  const stop = () => {
    if (stopping) return
    stopping = true
    running.stop().then(() => process.exit(0), fail)
  }
  process.once('SIGTERM', stop).once('SIGINT', stop)
  if (process.send) {
    process.once('disconnect', stop)
    process.send({ ready: true, ...running.facts })
  }
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? describe(error) : String(error)}\n`)
  process.exit(1)
}

function describe(error: Error): string {
  const { code, port } = error as NodeJS.ErrnoException & { port?: number }
  return code === 'EADDRINUSE'
    ? `Port ${port} is already in use; nothing was started. Stop what uses it, or set PORT to another one (0 picks a free one).`
    : error.message
}
