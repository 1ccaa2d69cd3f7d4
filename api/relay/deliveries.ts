import { z } from 'zod'
import { notFound } from '../../src/errors.js'
import { idPattern } from '../../src/ids.js'
import { findAttempts, findDelivery } from '../../src/relay/deliveries/repository.js'
import { Attempt, Delivery } from '../../src/relay/deliveries/schema.js'
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
    const delivery = await findDelivery(tx, caller.organisationId, params.id)
    if (!delivery) throw notFound()
    return delivery
  },
})

export const listAttempts = route({
  method: 'get',
  path: '/v1/deliveries/{id}/attempts',
  summary: 'The attempt ledger of a delivery, newest first',
  scope: 'read',
  params,
  responds: { status: 200, data: z.array(Attempt) },
  async handle({ tx, caller, params }) {
    const attempts = await findAttempts(tx, caller.organisationId, params.id)
    if (!attempts) throw notFound()
    return attempts
  },
})
