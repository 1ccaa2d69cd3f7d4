import { heartbeat } from '@temporalio/activity'
import type { LaneStep, WebhookLane } from '../../src/webhooks/deliveries/schema.js'
import { sendWebhooks, type WebhookSender } from '../../src/webhooks/deliveries/send-webhooks.js'

const BEAT_MS = 3_000

/** What the lane of an endpoint calls. */
export interface LaneActivities {
  /** Sends what is due and says when there is more. Rows are claimed before anything is sent, so repeating it loses nothing. */
  send(lane: WebhookLane): Promise<LaneStep>
}

/** Binds the activities to their process and to the queue of healthy or of failing endpoints. */
export function createLaneActivities(sender: WebhookSender, { failing }: { failing: boolean }): LaneActivities {
  return {
    async send({ endpointId }) {
      heartbeat()
      const beating = setInterval(heartbeat, BEAT_MS)
      try {
        return await sendWebhooks(sender, { endpointId, failing })
      } finally {
        clearInterval(beating)
      }
    },
  }
}
