import {
  condition,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { LaneActivities } from '../../activities/webhooks/lanes.js'
import type { WebhookLane } from '../../src/webhooks/deliveries/schema.js'
import { untilSettled } from '../activity-options.js'
import { webhooksDue } from './signals.js'

/** One endpoint's lane, with the queues that send to endpoints that answer and to those that fail. */
export interface LaneRun extends WebhookLane {
  queues: { healthy: string; failing: string }
  /** The last attempt failed. */
  failing?: boolean
}

/** Sends what is due for one endpoint, batch by batch, and ends when nothing is. The rows decide what is sent; this only orders and waits. */
export async function deliverWebhooks({ endpointId, queues, failing: failed = false }: LaneRun): Promise<void> {
  let [wakes, failing] = [0, failed]
  setHandler(webhooksDue, () => void wakes++)

  for (;;) {
    const seen = wakes
    setCurrentDetails(`Sending to endpoint \`${endpointId}\`, ${failing ? 'which failed last' : 'which answers'}.`)
    const { send } = proxyActivities<LaneActivities>({
      ...untilSettled,
      taskQueue: failing ? queues.failing : queues.healthy,
    })
    const step = await send.executeWithOptions({ summary: `send to ${endpointId}` }, [{ endpointId }])
    failing = step.failing

    if (workflowInfo().continueAsNewSuggested)
      return continueAsNew<typeof deliverWebhooks>({ endpointId, queues, failing })
    if (wakes > seen) continue
    if (step.waitMs === null) return setCurrentDetails('Nothing is due: the next event starts a new run.')
    setCurrentDetails(
      `Waiting until ${new Date(Date.now() + step.waitMs).toISOString()}, or until something else is due.`,
    )
    if (step.waitMs > 0) await condition(() => wakes > seen, step.waitMs)
  }
}
