import { z } from 'zod'
import { CURRENCY, FEATURES, listPlans, planOf } from '../../src/accounts/plans.js'
import { readUsage } from '../../src/accounts/usage.js'
import { route } from '../http/route.js'

const features = z.array(z.enum(FEATURES))

const Limits = z
  .strictObject({
    posts_per_month: z.int(),
    deliveries_per_month: z.int(),
    connections: z.int(),
    members: z.int(),
    webhook_endpoints: z.int(),
    media_bytes: z.int(),
    storage_bytes: z.int(),
    requests_per_minute: z.int(),
  })
  .meta({ id: 'Limits' })

const Plan = z
  .strictObject({
    code: z.string(),
    card: z.string(),
    name: z.string(),
    price_minor: z.int().nullable(),
    currency: z.string(),
    unit: z.literal('month'),
    summary: z.string(),
    features,
    featured: z.boolean(),
    limits: Limits.nullable(),
  })
  .meta({ id: 'Plan' })

const Period = z.strictObject({ start: z.iso.datetime(), end: z.iso.datetime() })

export const readPlans = route({
  method: 'get',
  path: '/v1/plans',
  summary: 'The price list, with what each plan carries and allows',
  scope: null,
  responds: {
    status: 200,
    data: z.strictObject({ product: z.literal('relay'), plans: z.array(Plan) }),
    meta: z.strictObject({ currency: z.string() }),
  },
  async handle() {
    const plans = listPlans().map(([code, plan]) => ({
      ...{ code, card: code, currency: CURRENCY, unit: 'month' as const },
      ...plan,
      features: [...plan.features],
    }))
    return { data: { product: 'relay' as const, plans }, meta: { currency: CURRENCY } }
  },
})

export const readBilling = route({
  method: 'get',
  path: '/v1/billing',
  summary: 'The organisation’s plan, its limits and features, and what was used this month',
  scope: 'read',
  anyPlan: true,
  responds: {
    status: 200,
    data: z
      .strictObject({
        plan: z.strictObject({ code: z.string(), card: z.string(), name: z.string() }),
        held_by: z.strictObject({
          kind: z.enum(['subscription', 'licence', 'assigned']),
          since: z.iso.datetime().nullable(),
          until: z.iso.datetime().nullable(),
          reference: z.string().nullable(),
        }),
        limits: Limits,
        features,
        usage: z.strictObject({ posts: z.int(), deliveries: z.int() }),
        period: Period,
      })
      .meta({ id: 'Billing' }),
  },
  async handle({ tx, caller }) {
    const { posts, deliveries, start, end } = await readUsage(tx, caller.organisationId)
    const { name, features } = planOf(caller.plan)
    return {
      plan: { code: caller.plan, card: caller.plan, name },
      held_by: { kind: 'assigned' as const, since: null, until: null, reference: null },
      limits: caller.limits,
      features: [...features],
      usage: { posts, deliveries },
      period: { start: start.toISOString(), end: end.toISOString() },
    }
  },
})

export const readUsageOfMonth = route({
  method: 'get',
  path: '/v1/usage',
  summary: 'Deliveries used this month',
  scope: 'read',
  responds: {
    status: 200,
    data: z.strictObject({ deliveries: z.int(), limit: z.int(), period: Period }).meta({ id: 'Usage' }),
  },
  async handle({ tx, caller }) {
    const { deliveries, start, end } = await readUsage(tx, caller.organisationId)
    const period = { start: start.toISOString(), end: end.toISOString() }
    return { deliveries, limit: caller.limits.deliveries_per_month, period }
  },
})
