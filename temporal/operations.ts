import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client'
import proto from '@temporalio/proto'
import type { Config } from '../src/config.js'
import type { QueueFacts, TemporalOperations } from '../src/ops/temporal-operations.js'
import { connectionOptions } from './connection.js'
import {
  addAttributes,
  changeRetention,
  createNamespace,
  findMissingAttributes,
  readRetention,
  untilAttributesWork,
} from './namespace.js'
import { publishQueue, SEARCH_ATTRIBUTES, webhookQueues } from './task-queues.js'

const { TASK_QUEUE_TYPE_ACTIVITY, TASK_QUEUE_TYPE_WORKFLOW } = proto.temporal.api.enums.v1.TaskQueueType

const USUAL_RETENTION_DAYS = 7
/** One call; the server may be away, and then nobody should wait for long. */
const CALL_MS = 10_000

/** What the operator's commands ask of Temporal, over a connection that is made with the first of them. */
export function createTemporalOperations(config: Config): TemporalOperations {
  const { namespace } = config.temporal
  const connection = Connection.lazy(connectionOptions(config.temporal))
  // Without retries: an answer that nobody waits for any more would be tried again when this is closed, and throw where nobody catches.
  const asking = Connection.lazy({ ...connectionOptions(config.temporal), interceptors: [] })
  const client = new Client({ connection: asking, namespace })
  const names = SEARCH_ATTRIBUTES
  const bounded = <T>(call: () => Promise<T>) => asking.withDeadline(Date.now() + CALL_MS, call)
  return {
    searchAttributes: names,
    async setUp({ retentionDays }) {
      const created = await createNamespace(connection, {
        namespace,
        retentionDays: retentionDays ?? USUAL_RETENTION_DAYS,
      })
      if (!created && retentionDays !== null) await changeRetention(connection, { namespace, retentionDays })
      const added = await findMissingAttributes(connection, { namespace, names })
      if (added.length > 0) await addAttributes(connection, { namespace, names: added })
      await untilAttributesWork(connection, { namespace, names })
      return { created, retentionDays: (await readRetention(connection, namespace)) ?? 0, added }
    },
    inspect: () =>
      bounded(async () => {
        const { serverVersion } = await asking.workflowService.getSystemInfo({})
        const retentionDays = await readRetention(asking, namespace)
        if (retentionDays === null)
          throw new Error(`There is no namespace ${namespace}: run \`npm run ops -- temporal-setup\``)
        return {
          version: serverVersion,
          retentionDays,
          missingAttributes: await findMissingAttributes(asking, { namespace, names }),
          queues: await readQueues(asking, config),
        }
      }),
    isOpen: (workflowId) =>
      bounded(async () => {
        try {
          return (await client.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING'
        } catch (error) {
          if (error instanceof WorkflowNotFoundError) return false
          throw error
        }
      }),
    close: async () => {
      await Promise.all([connection.close(), asking.close()])
    },
  }
}

/** Who polls each queue that a worker should. The server forgets a poller some minutes after it has gone. */
async function readQueues({ workflowService }: Connection, config: Config): Promise<QueueFacts[]> {
  const { namespace } = config.temporal
  const publish = publishQueue(config)
  const activities = [publish, ...Object.values(webhookQueues(config))]
  const queues: Omit<QueueFacts, 'pollers'>[] = [
    { queue: publish, kind: 'workflow' },
    ...activities.map((queue) => ({ queue, kind: 'activity' as const })),
  ]
  return Promise.all(
    queues.map(async ({ queue, kind }) => {
      const taskQueueType = kind === 'workflow' ? TASK_QUEUE_TYPE_WORKFLOW : TASK_QUEUE_TYPE_ACTIVITY
      const ask = { namespace, taskQueue: { name: queue }, taskQueueType }
      const { pollers } = await workflowService.describeTaskQueue(ask)
      return { queue, kind, pollers: pollers.length }
    }),
  )
}
