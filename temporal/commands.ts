import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client'
import { defineSearchAttributeKey } from '@temporalio/common'
import type { DeliveryOutboxLine, LaneOutboxLine, OutboxLine } from '../src/outbox/outbox.js'
import type { DeliveryRun } from '../src/relay/deliveries/schema.js'
import type { deliverPost } from '../workflows/relay/deliver-post.js'
import type { deliverWebhooks, LaneRun } from '../workflows/webhooks/deliver-webhooks.js'
import { SEARCH_ATTRIBUTES } from './task-queues.js'

/** What carrying out a line needs. */
export interface Commander {
  client: Client
  taskQueue: string
  webhookQueues: LaneRun['queues']
  /** Gives an unsettled delivery whose run has closed a new one. */
  rearm(run: DeliveryRun): Promise<void>
}

// The workflow's code is never loaded here: its name and its signal's name are enough.
const DELIVER_POST = 'deliverPost' satisfies (typeof deliverPost)['name']
const DELIVERY_CHANGED = 'deliveryChanged'
const DELIVER_WEBHOOKS = 'deliverWebhooks' satisfies (typeof deliverWebhooks)['name']
const WEBHOOKS_DUE = 'webhooksDue'

const [organisationId, postId, platform, connectionId] = SEARCH_ATTRIBUTES.map((name) =>
  defineSearchAttributeKey(name, 'KEYWORD'),
)

/** Carries out one line. Every command may be repeated: what was done already is success. */
export async function carryOut(commander: Commander, line: OutboxLine): Promise<void> {
  if (line.command === 'wake_webhooks') return wakeWebhooks(commander, line)
  await COMMANDS[line.command](commander, line)
}

type Carry = (commander: Commander, line: DeliveryOutboxLine) => Promise<void>

const COMMANDS: Record<DeliveryOutboxLine['command'], Carry> = {
  start_delivery: startDelivery,
  poke_delivery: pokeDelivery,
  cancel_delivery: cancelDelivery,
}

async function startDelivery(commander: Commander, line: DeliveryOutboxLine): Promise<void> {
  // By the database's clock: this process's own may be wrong.
  const startDelay = Math.ceil(line.due_in_ms ?? 0)
  try {
    await commander.client.workflow.start(DELIVER_POST, {
      ...runOptions(commander, line),
      ...(startDelay > 0 && { startDelay }),
    })
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
  }
}

/** Wakes a run inside its delay, starts a missing one; one that has closed without settling its delivery is re-armed. */
async function pokeDelivery(commander: Commander, line: DeliveryOutboxLine): Promise<void> {
  try {
    await commander.client.workflow.signalWithStart(DELIVER_POST, {
      ...runOptions(commander, line),
      signal: DELIVERY_CHANGED,
    })
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    await commander.rearm({ deliveryId: line.args.deliveryId, generation: line.args.generation })
  }
}

async function cancelDelivery({ client }: Commander, { workflow_id: workflowId }: DeliveryOutboxLine): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).cancel()
  } catch (error) {
    // Never started or closed already: the row alone decided.
    if (!(error instanceof WorkflowNotFoundError)) throw error
  }
}

/** Wakes the lane of an endpoint, or starts it: it lives many times under one id. */
async function wakeWebhooks(
  { client, taskQueue, webhookQueues: queues }: Commander,
  line: LaneOutboxLine,
): Promise<void> {
  const { endpointId, organisationId: organisation } = line.args
  const run: LaneRun = { endpointId, queues }
  await client.workflow.signalWithStart(DELIVER_WEBHOOKS, {
    taskQueue,
    workflowId: line.workflow_id,
    args: [run],
    signal: WEBHOOKS_DUE,
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    staticSummary: `webhooks of ${endpointId}`,
    typedSearchAttributes: organisationId ? [{ key: organisationId, value: organisation }] : [],
  })
}

function runOptions({ taskQueue }: Commander, { workflow_id: workflowId, args: line }: DeliveryOutboxLine) {
  const run: DeliveryRun = { deliveryId: line.deliveryId, generation: line.generation }
  const values = [line.organisationId, line.postId, line.platform, line.connectionId]
  const keys = [organisationId, postId, platform, connectionId]
  return {
    taskQueue,
    workflowId,
    args: [run] as [DeliveryRun],
    workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    staticSummary: `${line.platform} · ${line.handle} · due ${line.dueAt}`,
    typedSearchAttributes: keys.flatMap((key, at) => (key ? [{ key, value: values[at] ?? '' }] : [])),
  }
}
