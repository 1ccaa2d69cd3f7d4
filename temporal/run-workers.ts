import type { NativeConnection, Worker } from '@temporalio/worker'
import { together } from '../src/together.js'

const LOOK_EVERY_MS = 1_000

/** The Temporal Workers of one process, from their first poll on. */
export interface RunningWorkers {
  /** Rejects with one sentence once one of them has given up. The SDK does so over a poll that began more than a minute ago and is refused, for instance
   *  because the namespace is gone; it logs what it was told. */
  failed: Promise<never>
  /** Throws unless all of them poll. */
  requirePolling(): void
  /** Ends them after what they have under way, then the connection. Throws when that takes longer than they were given. */
  stop(): Promise<void>
}

interface RunOptions {
  workers: Worker[]
  /** The one that all of them have. */
  connection: NativeConnection
}

/** Has the Workers poll. */
export function runWorkers({ workers, connection }: RunOptions): RunningWorkers {
  const runs = workers.map((worker) => ({ worker, end: worker.run() }))
  let looking: NodeJS.Timeout
  const failed = new Promise<never>((_resolve, reject) => {
    const giveUp = (worker: Worker, why = '') =>
      reject(new Error(`The worker of the queue ${worker.options.taskQueue} has given up${why}.`))
    for (const { worker, end } of runs) end.catch((error: unknown) => giveUp(worker, `: ${String(error)}`))
    // The state and not the end alone: one whose poll was refused may never come to its end.
    looking = setInterval(() => {
      const gone = workers.find((worker) => worker.getState() === 'FAILED')
      if (gone) giveUp(gone)
    }, LOOK_EVERY_MS).unref()
  })
  return {
    failed,
    requirePolling() {
      const state = workers.map((worker) => worker.getState()).find((each) => each !== 'RUNNING')
      if (state) throw new Error(`The worker is ${state}`)
    },
    async stop() {
      clearInterval(looking)
      // What a failed one has under way is left as a crash would leave it: nothing of it can be reported any more. Nor does it let go of the connection.
      const left = runs.filter(({ worker }) => worker.getState() !== 'FAILED')
      for (const { worker } of left) if (worker.getState() === 'RUNNING') worker.shutdown()
      await together(left.map(({ end }) => end))
      if (left.length === runs.length) await connection.close()
    },
  }
}
