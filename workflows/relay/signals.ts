import { defineSignal } from '@temporalio/workflow'

/** Says that the row changed: read it again. It carries nothing. */
export const deliveryChanged = defineSignal('deliveryChanged')
