import { z } from 'zod'
import { notFound } from '../../src/errors.js'
import { findPauses } from '../../src/relay/platforms/pauses.js'
import { Platform, presentPlatform } from '../../src/relay/platforms/present.js'
import { route } from '../http/route.js'

export const listPlatforms = route({
  method: 'get',
  path: '/v1/platforms',
  summary: 'Every destination and what it takes',
  scope: null,
  query: z.strictObject({
    status: Platform.shape.status.optional(),
    category: z.string().optional(),
    available: z.enum(['true', 'false']).optional(),
  }),
  responds: { status: 200, data: z.array(Platform) },
  async handle({ tx, context, query }) {
    const pauses = await findPauses(tx)
    const { status, category, available } = query
    return [...context.gateway.platforms.values()]
      .map((platform) => presentPlatform(platform, pauses.get(platform.id)))
      .filter((platform) => !status || platform.status === status)
      .filter((platform) => !category || platform.category === category)
      .filter((platform) => !available || String(platform.available) === available)
  },
})

export const readPlatform = route({
  method: 'get',
  path: '/v1/platforms/{id}',
  summary: 'One destination in detail',
  scope: null,
  params: { id: z.string() },
  responds: { status: 200, data: Platform },
  async handle({ tx, context, params }) {
    const platform = context.gateway.platforms.get(params.id)
    if (!platform) throw notFound()
    return presentPlatform(platform, (await findPauses(tx)).get(platform.id))
  },
})
