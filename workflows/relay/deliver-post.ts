import { condition, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow'
import type { DeliveryActivities } from '../../activities/relay/deliveries.js'
import type { DeliveryRun } from '../../src/relay/deliveries/schema.js'
import { untilSettled } from '../activity-options.js'
import { deliveryChanged } from './signals.js'

const { publish } = proxyActivities<DeliveryActivities>(untilSettled)

/** Takes one delivery to its final state. The attempt ledger decides inside `publish`, so repeating it is always safe. */
export async function deliverPost({ deliveryId, generation }: DeliveryRun): Promise<void> {
  let changes = 0
  setHandler(deliveryChanged, () => void changes++)

  for (;;) {
    const seen = changes
    setCurrentDetails(
      `Publishing delivery \`${deliveryId}\`: the pending activity shows the attempt and what it waits for.`,
    )
    const step = await publish.executeWithOptions({ summary: `publish ${deliveryId}` }, [{ deliveryId, generation }])
    if (step.settled) return setCurrentDetails('Settled: the outcome is in the delivery and its attempts.')

    setCurrentDetails(
      `Waiting until ${new Date(Date.now() + step.waitMs).toISOString()}, or until the delivery is changed.`,
    )
    await condition(() => changes > seen, step.waitMs)
  }
}
