import { ApplicationFailure, heartbeat } from '@temporalio/activity'
import { publishDelivery } from '../../src/relay/deliveries/publish-delivery.js'
import type { Publisher, RetryStep } from '../../src/relay/deliveries/publisher.js'
import type { DeliveryRun } from '../../src/relay/deliveries/schema.js'

/** A third of the heartbeat timeout: a worker that misses three beats is taken for dead. */
const BEAT_MS = 3_000

/** What the workflow of a delivery calls. */
export interface DeliveryActivities {
  /** Takes the delivery one step on. Throws BENIGN with the delay to try again after; the ledger makes repeating it safe. */
  publish(run: DeliveryRun): Promise<{ settled: true } | { settled: false; waitMs: number }>
}

/** Binds the activities to their process. */
export function createDeliveryActivities(publisher: Publisher): DeliveryActivities {
  return {
    async publish(run) {
      heartbeat()
      const beating = setInterval(heartbeat, BEAT_MS)
      try {
        const step = await publishDelivery(publisher, run)
        if (step.kind === 'settled') return { settled: true }
        if (step.kind === 'wait') return { settled: false, waitMs: step.waitMs }
        throw retryIn(step)
      } finally {
        clearInterval(beating)
      }
    },
  }
}

function retryIn({ inMs, code, why = code ?? 'not settled' }: RetryStep): ApplicationFailure {
  return ApplicationFailure.create({
    type: code ?? 'retry',
    message: `${why}: tries again in ${Math.ceil(inMs / 1000)} s`,
    nextRetryDelay: Math.max(1, Math.round(inMs)),
    category: 'BENIGN',
  })
}
