import { z } from 'zod'
import { notFound } from '../../src/errors.js'
import { idPattern } from '../../src/ids.js'
import { cursorParameter, inOrder, limitParameter, listParameter, NOT_IN_ORDER } from '../../src/db/page.js'
import * as repository from '../../src/relay/deliveries/repository.js'
import * as retrying from '../../src/relay/deliveries/retry-delivery.js'
import { Attempt, Delivery, DeliveryStatus } from '../../src/relay/deliveries/schema.js'
import { route } from '../http/route.js'

const params = { id: z.string().regex(idPattern('dlv')) }

export const readDelivery = route({
  method: 'get',
  path: '/v1/deliveries/{id}',
  summary: 'One delivery',
  scope: 'read',
  params,
  responds: { status: 200, data: Delivery },
  async handle({ tx, caller, params }) {
    const delivery = await repository.findDelivery(tx, caller.organisationId, params.id)
    if (!delivery) throw notFound()
    return delivery
  },
})

export const listDeliveries = route({
  method: 'get',
  path: '/v1/deliveries',
  summary: 'Deliveries, newest first',
  scope: 'read',
  query: z
    .strictObject({
      platform: z
        .string()
        .transform((text) => text.split(','))
        .optional(),
      status: listParameter(DeliveryStatus),
      post_id: z.string().regex(idPattern('post'), 'must be the id of a post').optional(),
      connection_id: z.string().regex(idPattern('conn'), 'must be the id of a connection').optional(),
      from: z.iso.datetime({ offset: true }).optional(),
      to: z.iso.datetime({ offset: true }).optional(),
      limit: limitParameter({ max: 100, usual: 25 }),
      cursor: cursorParameter('dlv'),
    })
    .refine(inOrder, NOT_IN_ORDER),
  responds: { status: 200, data: z.array(Delivery), pages: true },
  handle: ({ tx, caller, query }) => repository.listDeliveries(tx, caller.organisationId, query),
})

export const retryDelivery = route({
  method: 'post',
  path: '/v1/deliveries/{id}/retry',
  summary: 'Send one failed delivery again',
  scope: 'publish',
  audit: 'delivery.retried',
  params,
  body: z.strictObject({ confirm_not_published: z.boolean().default(false) }),
  responds: { status: 200, data: Delivery },
  handle: ({ tx, caller, params, body }) =>
    retrying.retryDelivery(tx, caller.organisationId, params.id, { confirmed: body.confirm_not_published }),
})

export const listAttempts = route({
  method: 'get',
  path: '/v1/deliveries/{id}/attempts',
  summary: 'The attempt ledger of a delivery, newest first',
  additive: true,
  scope: 'read',
  params,
  responds: { status: 200, data: z.array(Attempt) },
  async handle({ tx, caller, params }) {
    const attempts = await repository.findAttempts(tx, caller.organisationId, params.id)
    if (!attempts) throw notFound()
    return attempts
  },
})
