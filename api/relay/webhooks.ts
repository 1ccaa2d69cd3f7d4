import { z } from 'zod'
import { cursorParameter, limitParameter } from '../../src/db/page.js'
import { notFound } from '../../src/errors.js'
import { idPattern } from '../../src/ids.js'
import { EVENT_TYPES } from '../../src/relay/events/schema.js'
import * as log from '../../src/webhooks/deliveries/repository.js'
import { TestedWebhook, WebhookDelivery, WebhookDeliveryStatus } from '../../src/webhooks/deliveries/schema.js'
import * as sending from '../../src/webhooks/deliveries/send-again.js'
import * as changing from '../../src/webhooks/endpoints/change-endpoint.js'
import { registerEndpoint } from '../../src/webhooks/endpoints/register-endpoint.js'
import * as repository from '../../src/webhooks/endpoints/repository.js'
import { requireReachable } from '../../src/webhooks/endpoints/require-reachable.js'
import * as schema from '../../src/webhooks/endpoints/schema.js'
import { route } from '../http/route.js'

const path = '/v1/webhooks/{id}'
const params = { id: z.string().regex(idPattern('whk')) }

export const listWebhooks = route({
  method: 'get',
  path: '/v1/webhooks',
  summary: 'Webhook endpoints, newest first',
  scope: 'admin',
  responds: { status: 200, data: z.array(schema.Endpoint) },
  handle: ({ tx, caller }) => repository.listEndpoints(tx, caller.organisationId),
})

export const registerWebhook = route({
  method: 'post',
  path: '/v1/webhooks',
  summary: 'Register an endpoint and choose its events; its signing secret is told this once',
  scope: 'admin',
  audit: 'webhook.created',
  body: schema.createEndpoint(EVENT_TYPES),
  responds: { status: 200, data: schema.EndpointWithSecret },
  toldOnce: ['secret'],
  before: ({ context, body }): Promise<void> => requireReachable(body.url, context.config),
  handle: ({ tx, context, caller, body }) =>
    registerEndpoint(tx, { caller, keys: context.config.keyEncryptionKeys }, body),
})

export const updateWebhook = route({
  method: 'patch',
  path,
  summary: 'Change an endpoint, switch it off or on',
  additive: true,
  scope: 'admin',
  audit: 'webhook.updated',
  params,
  body: schema.updateEndpoint(EVENT_TYPES),
  responds: { status: 200, data: schema.Endpoint },
  before: async ({ context, body }): Promise<void> =>
    body.url === undefined ? undefined : requireReachable(body.url, context.config),
  handle: ({ tx, caller, params, body }) => changing.changeEndpoint(tx, caller.organisationId, params.id, body),
})

export const deleteWebhook = route({
  method: 'delete',
  path,
  summary: 'Delete an endpoint; nothing more is sent to it',
  scope: 'admin',
  audit: 'webhook.deleted',
  params,
  responds: { status: 200, data: schema.DeletedEndpoint },
  handle: ({ tx, caller, params }) => changing.removeEndpoint(tx, caller.organisationId, params.id),
})

export const rotateWebhook = route({
  method: 'post',
  path: `${path}/rotate`,
  summary: 'Issue a new signing secret, told this once; the old one signs too while the overlap runs',
  scope: 'admin',
  audit: 'webhook.rotated',
  params,
  body: schema.RotateSecret,
  responds: { status: 200, data: schema.EndpointWithSecret },
  toldOnce: ['secret'],
  handle: ({ tx, context, caller: { organisationId }, params: { id }, body }) =>
    changing.rotateSecret(tx, { organisationId, id, keys: context.config.keyEncryptionKeys }, body.overlap_hours),
})

export const testWebhook = route({
  method: 'post',
  path: `${path}/test`,
  summary: 'Send a test event, whatever the endpoint chose',
  scope: 'admin',
  audit: 'webhook.tested',
  params,
  responds: { status: 200, data: TestedWebhook },
  handle: ({ tx, caller, params }) => sending.testEndpoint(tx, caller.organisationId, params.id),
})

export const listWebhookDeliveries = route({
  method: 'get',
  path: `${path}/deliveries`,
  summary: 'What the endpoint was told and every attempt at it, newest first',
  scope: 'admin',
  params,
  query: z.strictObject({
    status: WebhookDeliveryStatus.optional(),
    limit: limitParameter({ max: 100, usual: 25 }),
    cursor: cursorParameter('whd'),
  }),
  responds: { status: 200, data: z.array(WebhookDelivery), pages: true },
  async handle({ tx, caller, params, query }) {
    if (!(await repository.hasEndpoint(tx, caller.organisationId, params.id))) throw notFound()
    return log.listWebhookDeliveries(tx, params.id, query)
  },
})

export const replayWebhookDelivery = route({
  method: 'post',
  path: `${path}/deliveries/{delivery_id}/replay`,
  summary: 'Send one delivery again under the same id',
  additive: true,
  scope: 'admin',
  audit: 'webhook.replayed',
  params: { ...params, delivery_id: z.string().regex(idPattern('whd')) },
  responds: { status: 200, data: WebhookDelivery },
  handle: ({ tx, caller, params: { id: endpointId, delivery_id: deliveryId } }) =>
    sending.replayDelivery(tx, caller.organisationId, { endpointId, deliveryId }),
})

export const recoverWebhook = route({
  method: 'post',
  path: `${path}/recover`,
  summary: 'Send what failed, was held, or happened while the endpoint was off, since a moment',
  additive: true,
  scope: 'admin',
  audit: 'webhook.recovered',
  params,
  body: z.strictObject({ since: z.iso.datetime({ offset: true }) }),
  responds: { status: 200, data: z.strictObject({ requeued: z.int() }) },
  handle: ({ tx, caller, params: { id: endpointId }, body }) =>
    sending.recoverDeliveries(tx, caller.organisationId, { endpointId, since: new Date(body.since) }),
})
