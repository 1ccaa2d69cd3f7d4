import { proxyActivities, sleep } from '@temporalio/workflow'
import type { DeliveryActivities } from '../../activities/relay/deliveries.js'
import { untilSettled } from '../../workflows/activity-options.js'

const { publish } = proxyActivities<DeliveryActivities>(untilSettled)

/** `deliverPost` as somebody might change it by mistake: runs under way would break. */
export async function deliverPost(run: { deliveryId: string; generation: number }): Promise<void> {
  await sleep(1)
  await publish(run)
}
