import { NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { runProcess } from '../../src/process.js'

/** What the bare workflow calls: nothing but the note of when it was called. */
export interface BareActivities {
  note(run: { dueAt: number }): Promise<void>
}

/** What a round of the bench is told of it: when each activity ran and when it was due, both in Unix milliseconds. */
export interface Noted {
  times: { at: number; dueAt: number }[]
}

const noted: Noted['times'] = []
let wanted = 0

function tellWhenComplete(): void {
  if (wanted === 0 || noted.length < wanted) return
  process.send?.({ times: noted.splice(0) } satisfies Noted)
  wanted = 0
}

// The same slots and cache as temporal/worker.ts, so that the two differ in what they do alone.
await runProcess(async () => {
  Runtime.install({ shutdownSignals: [] })
  const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS ?? '' })
  const note = async ({ dueAt }: { dueAt: number }) => {
    noted.push({ at: Date.now(), dueAt })
    tellWhenComplete()
  }
  const worker = await Worker.create({
    connection,
    taskQueue: 'bench-bare',
    workflowBundle: { codePath: process.env.BARE_BUNDLE ?? '' },
    activities: { note },
    maxConcurrentActivityTaskExecutions: 100,
    maxCachedWorkflows: 500,
  })
  process.on('message', (message: { wanted: number }) => {
    wanted = message.wanted
    tellWhenComplete()
  })
  const running = worker.run()
  return {
    facts: {},
    stopWithinMs: 10_000,
    async stop() {
      worker.shutdown()
      await running
      await connection.close()
    },
  }
})
