import { once } from 'node:events'
import type { Client } from '@temporalio/client'
import type { NodeProcess } from '../stack/node-process.js'
import type { bare } from './bare-workflow.js'
import type { Noted } from './bare-worker.js'

/** As many starts at once as the relay loops of an api and a worker make together. */
const AT_ONCE = 100

/** Starts `count` bare workflows, due at `dueAt` (Unix milliseconds; now by default), and tells when their activities ran. */
export async function runBare(
  { client, worker }: { client: Client; worker: NodeProcess },
  { count, dueAt }: { count: number; dueAt?: number },
): Promise<Noted['times']> {
  const noted = once(worker.process, 'message') as Promise<[Noted]>
  worker.process.send({ wanted: count })
  const round = Math.random().toString(36).slice(2)
  const start = (at: number) => {
    const startDelay = dueAt === undefined ? 0 : Math.max(0, dueAt - Date.now())
    return client.workflow.start<typeof bare>('bare', {
      taskQueue: 'bench-bare',
      workflowId: `bare/${round}/${at}`,
      args: [{ dueAt: dueAt ?? Date.now() }],
      ...(startDelay > 0 && { startDelay }),
    })
  }
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => start(from + at)))
  const [{ times }] = await noted
  return times
}
