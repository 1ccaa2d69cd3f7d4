import { proxyActivities } from '@temporalio/workflow'
import type { BareActivities } from './bare-worker.js'

const { note } = proxyActivities<BareActivities>({ startToCloseTimeout: '60s' })

/** The least that can be delivered durably: one workflow with one empty activity. */
export async function bare(run: { dueAt: number }): Promise<void> {
  await note(run)
}
