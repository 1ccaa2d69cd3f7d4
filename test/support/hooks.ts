import type { WebhookDelivery } from '../../src/webhooks/deliveries/schema.js'
import type { Endpoint } from '../../src/webhooks/endpoints/schema.js'
import type { Tenant } from './app.js'
import { until } from './until.js'

/** The log of an endpoint, newest first. */
export async function deliveriesOf(tenant: Tenant, endpointId: string): Promise<WebhookDelivery[]> {
  return (await tenant.call<WebhookDelivery[]>('GET', `/v1/webhooks/${endpointId}/deliveries?limit=100`)).body.data
}

/** The endpoint as its list shows it. */
export async function endpointOf(tenant: Tenant, endpointId: string): Promise<Endpoint> {
  const { data } = (await tenant.call<Endpoint[]>('GET', '/v1/webhooks')).body
  const found = data.find(({ id }) => id === endpointId)
  if (!found) throw new Error(`There is no endpoint ${endpointId}`)
  return found
}

/** Asks for a test event; answers the id of its delivery. */
export async function sendTest(tenant: Tenant, endpointId: string): Promise<string> {
  const { body } = await tenant.call<{ delivery_id: string }>('POST', `/v1/webhooks/${endpointId}/test`)
  if (!body.data) throw new Error(JSON.stringify(body.error))
  return body.data.delivery_id
}

/** Waits until the delivery has so many ended attempts; answers it. */
export async function untilAttempted(
  tenant: Tenant,
  endpointId: string,
  id: string,
  attempts = 1,
): Promise<WebhookDelivery> {
  return until(`${attempts} attempts at ${id}`, async () => {
    const found = (await deliveriesOf(tenant, endpointId)).find((each) => each.id === id)
    return found && found.attempts.filter((each) => each.duration_ms !== null).length >= attempts && found
  })
}
