import { startApp, type App, type Tenant } from '../../support/app.js'

let app: App
let tenant: Tenant

beforeAll(async () => {
  app = await startApp()
  tenant = await app.tenant()
})
afterAll(() => app.stop())

interface Plan {
  code: string
  price_minor: number | null
  features: string[]
  limits: Record<string, number>
}

test('the price list needs no key and says what each plan carries and allows', async () => {
  const { status, body } = await app.call<{ product: string; plans: Plan[] }>('GET', '/v1/plans')
  expect([status, body.meta, body.data.product]).toEqual([200, { currency: 'EUR' }, 'relay'])
  expect(body.data.plans.map(({ code, price_minor }) => [code, price_minor])).toEqual([
    ['free', 0],
    ['creator', 1900],
    ['team', 5900],
    ['scale', 19900],
    ['enterprise', null],
  ])
  const [free, creator, , , enterprise] = body.data.plans
  expect([free!.features, creator!.features.includes('api')]).toEqual([[], true])
  expect(enterprise!.limits).toMatchObject({ posts_per_month: -1, requests_per_minute: 3000 })
})

test('billing and usage tell the plan, what was agreed beside it, and what this month has used', async () => {
  const customer = await app.tenant(undefined, { limits: { deliveries_per_month: 7 }, plan: 'team' })
  const to = [await customer.connect('a'), await customer.connect('b')]
  await customer.settled((await customer.post('counted', to)).id)
  const billing = await customer.call<{ period: object }>('GET', '/v1/billing')
  expect(billing.body.data).toMatchObject({
    plan: { code: 'team', card: 'team', name: 'Team' },
    held_by: { kind: 'assigned' },
    limits: { deliveries_per_month: 7, connections: 30 },
    features: ['api', 'webhooks', 'mcp', 'analytics', 'approvals', 'connect_links'],
    usage: { posts: 1, deliveries: 2 },
  })
  const usage = await customer.call('GET', '/v1/usage')
  expect(usage.body.data).toEqual({ deliveries: 2, limit: 7, period: billing.body.data.period })
  expect(billing.body.data.period).toEqual({
    start: expect.stringMatching(/-01T00:00:00.000Z$/),
    end: expect.stringMatching(/-01T00:00:00.000Z$/),
  })
})

test('the plan is read anew for every request', async () => {
  await app.sql`update organisations set plan = 'creator' where id = ${tenant.organisationId}`
  const { body } = await tenant.call<{ plan: object }>('GET', '/v1/billing')
  expect(body.data.plan).toMatchObject({ code: 'creator' })
})
