import { dropPastLimits, learnLimit, limitScope } from '../../../src/relay/connections/limits.js'
import type { Delivery } from '../../../src/relay/deliveries/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { until } from '../../support/until.js'

let app: App
let tenant: Tenant

beforeAll(async () => {
  app = await startApp({ env: { SWEEP_OVERDUE_MS: '60000' } })
  tenant = await app.tenant()
})
afterAll(() => app.stop())

const limitOf = async (scope: string) =>
  (await app.sql<{ until: Date }[]>`select until from learned_limits where scope = ${scope}`)[0]?.until
const receivedAt = async (text: string) =>
  (await app.sql<{ received_at: Date }[]>`select received_at from sandbox_requests where text = ${text}`)[0]!
    .received_at
const delivery = async (postId: string): Promise<Delivery> => (await tenant.read(postId)).deliveries[0]!
const secondsFromNow = (date: Date | undefined) => ((date?.getTime() ?? 0) - Date.now()) / 1000

test('an account whose limit is used up is not called before its reset; another goes out at once; no attempt is spent', async () => {
  const [spent, free] = await Promise.all([tenant.connect('spent'), tenant.connect('free')])
  await tenant.settled((await tenant.post('the last one [sandbox:limit=3]', [spent])).id)
  const reset = await until('the limit is known', () => limitOf(spent))
  expect(secondsFromNow(reset)).toBeGreaterThan(1)

  const held = await tenant.post('held back', [spent])
  const waiting = await until('it waits', async () => (await delivery(held.id)).waiting_for)
  expect(waiting).toMatchObject({ code: 'rate_limited', reason: expect.stringContaining('sandbox') })
  expect(Date.parse(waiting.until ?? '')).toBeGreaterThanOrEqual(reset.getTime() - 50) // two clocks
  expect(await delivery(held.id)).toMatchObject({ status: 'pending', attempts: 0, started_at: null })

  const other = await tenant.settled((await tenant.post('another account', [free])).id)
  expect((await receivedAt('another account')) < reset).toBe(true)
  expect(other.status).toBe('published')

  expect(await tenant.settled(held.id)).toMatchObject({
    status: 'published',
    deliveries: [{ attempts: 1, waiting_for: null }],
  })
  expect((await receivedAt('held back')) >= reset).toBe(true)
})

test('a 429 with a wait holds back the other deliveries of the account too; its own attempt counts', async () => {
  const connection = await tenant.connect('refused')
  const refused = await tenant.post('[sandbox:rate_limited*1]', [connection])
  await until('the limit is known', () => limitOf(connection))
  const after = await tenant.post('after the refusal', [connection])
  const posts = [await tenant.settled(refused.id), await tenant.settled(after.id)]
  expect(posts.map(({ deliveries }) => deliveries[0]!.attempts)).toEqual([2, 1])
})

test('what is held back can be cancelled', async () => {
  const connection = await tenant.connect('cancelled')
  await learnLimit(app.sql, connection, 3_600_000)
  const { id } = await tenant.post('never', [connection])
  await until('it waits', async () => (await delivery(id)).waiting_for)
  await tenant.call('DELETE', `/v1/posts/${id}`)
  expect(await tenant.read(id)).toMatchObject({ status: 'cancelled', deliveries: [{ waiting_for: null }] })
})

test('a limit only grows, up to a day, and goes once it has passed', async () => {
  await learnLimit(app.sql, 'grows', 60_000)
  await learnLimit(app.sql, 'grows', 1_000)
  expect(secondsFromNow(await limitOf('grows'))).toBeGreaterThan(50)
  await learnLimit(app.sql, 'grows', 99 * 3_600_000)
  expect(secondsFromNow(await limitOf('grows')) / 3_600).toBeCloseTo(24, 1)

  await learnLimit(app.sql, 'passed', 1)
  await until('it has passed', async () => secondsFromNow(await limitOf('passed')) < 0)
  await dropPastLimits(app.sql)
  expect([await limitOf('passed'), (await limitOf('grows')) !== undefined]).toEqual([undefined, true])
})

test('a limit of the app holds for every account of the platform', async () => {
  expect(limitScope({ id: 'sandbox', limitScope: 'app' }, 'conn_1')).toBe('app/sandbox')
  expect(limitScope({ id: 'sandbox' }, 'conn_1')).toBe('conn_1')
  await learnLimit(app.sql, 'app/sandbox', 2_000)
  const lifts = (await limitOf('app/sandbox'))!
  const { id } = await tenant.post('any account', [await tenant.connect('any')])
  expect(await tenant.settled(id)).toMatchObject({ status: 'published', deliveries: [{ attempts: 1 }] })
  expect((await receivedAt('any account')) >= lifts).toBe(true)
})
