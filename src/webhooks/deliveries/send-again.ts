import type { Transaction } from '../../db/client.js'
import { invalidState, notFound } from '../../errors.js'
import { enqueueLanes } from '../../outbox/outbox.js'
import { lockEndpoint } from '../endpoints/repository.js'
import * as repository from './repository.js'
import type { TestedWebhook, WebhookDelivery } from './schema.js'

async function requireEnabled(tx: Transaction, organisationId: string, id: string): Promise<void> {
  const endpoint = await lockEndpoint(tx, organisationId, id)
  if (!endpoint) throw notFound()
  if (!endpoint.enabled)
    throw invalidState('The endpoint is switched off; switch it on first (PATCH, enabled).', 'disabled', ['enable'])
}

/** Has the lane send a test event to the endpoint. Throws 404, and 422 for one that is off. */
export async function testEndpoint(
  tx: Transaction,
  organisationId: string,
  endpointId: string,
): Promise<TestedWebhook> {
  await requireEnabled(tx, organisationId, endpointId)
  const { eventId, deliveryId } = await repository.insertTest(tx, { organisationId, endpointId })
  await enqueueLanes(tx, [endpointId])
  return { delivery_id: deliveryId, event_id: eventId, status: 'pending' }
}

/** Sends one delivery again under its own id, whatever became of it. Throws 404, and 422 for an endpoint that is off. */
export async function replayDelivery(
  tx: Transaction,
  organisationId: string,
  { endpointId, deliveryId }: { endpointId: string; deliveryId: string },
): Promise<WebhookDelivery> {
  await requireEnabled(tx, organisationId, endpointId)
  const delivery = await repository.replayWebhookDelivery(tx, endpointId, deliveryId)
  if (!delivery) throw notFound()
  await enqueueLanes(tx, [endpointId])
  return delivery
}

/** Sends what failed, was held, or happened while the endpoint was off, since then. Throws 404, and 422 for an endpoint that is off. */
export async function recoverDeliveries(
  tx: Transaction,
  organisationId: string,
  { endpointId, since }: { endpointId: string; since: Date },
): Promise<{ requeued: number }> {
  await requireEnabled(tx, organisationId, endpointId)
  const again = await repository.requeueSince(tx, endpointId, since)
  const missed = await repository.addMissed(tx, endpointId, since)
  await enqueueLanes(tx, [endpointId])
  return { requeued: again + missed }
}
