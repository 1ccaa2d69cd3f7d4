import { defineSignal } from '@temporalio/workflow'

/** Says that something is due: look again. It carries nothing. */
export const webhooksDue = defineSignal('webhooksDue')
