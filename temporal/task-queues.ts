/** The queue of deliveries: their workflow tasks and the one publish activity. The suffix keeps two stacks on one server apart. */
export function publishQueue({ taskQueueSuffix }: { taskQueueSuffix: string }): string {
  return `publish${taskQueueSuffix}`
}

/** The queues that send to webhook endpoints that answer, and to those whose last attempt failed: what hangs never holds up the others. */
export function webhookQueues({ taskQueueSuffix }: { taskQueueSuffix: string }): { healthy: string; failing: string } {
  return { healthy: `webhooks${taskQueueSuffix}`, failing: `webhooks-retry${taskQueueSuffix}` }
}

/** What an operator filters runs by in the Temporal UI; all Keyword, set at start (decisions.md 1). */
export const SEARCH_ATTRIBUTES = ['OrganisationId', 'PostId', 'Platform', 'ConnectionId', 'EnvelopeId'] as const
