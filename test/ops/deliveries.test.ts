import { startApp, type App, type Tenant } from '../support/app.js'
import { ops } from '../support/ops.js'
import { connectTemporal } from '../support/temporal.js'
import { until } from '../support/until.js'

let app: App
let tenant: Tenant
let connection: string
let temporal: Awaited<ReturnType<typeof connectTemporal>>

beforeAll(async () => {
  // No sweep comes in between: what moves is moved by the operator.
  ;[app, temporal] = await Promise.all([
    startApp({ env: { SWEEP_OVERDUE_MS: '600000', CALL_TIMEOUT_MS: '20000' } }),
    connectTemporal(),
  ])
  tenant = await app.tenant()
  connection = await tenant.connect()
})
afterAll(() => Promise.all([app.stop(), temporal.close()]))

const run = (...args: string[]) => ops(args, { DATABASE_URL: app.database.url })
const terminate = async (workflowId: string) => {
  const handle = temporal.client.workflow.getHandle(workflowId)
  await until('the run was started', () => handle.describe().catch(() => null))
  await handle.terminate('by the test')
}

test('a delivery whose run was terminated is given a new one, and goes out once', async () => {
  const due = new Date(Date.now() + 20_000).toISOString()
  const { id, deliveries } = await tenant.post('rearmed', [connection], { scheduled_at: due })
  const delivery = deliveries[0]!.id
  await terminate(`delivery/${delivery}/1`)
  expect(await run('rearm', delivery)).toMatchObject({
    code: 0,
    out: `${delivery} is rearmed: its run is delivery/${delivery}/2`,
  })
  const post = await tenant.settled(id)
  expect([post.status, post.deliveries[0]!.started_at! >= due]).toEqual(['published', true])
  expect(await app.timesAccepted('rearmed')).toBe(1)
  const [row] = await app.sql<{ organisation_id: string }[]>`
    select organisation_id from audit_log where action = 'delivery.rearmed'`
  expect(row?.organisation_id).toBe(tenant.organisationId)
})

test('one that is under way is looked up by its new run and not sent again; one that is settled is left', async () => {
  const text = 'rearmed late [sandbox:slow=15]'
  const { id, deliveries } = await tenant.post(text, [connection])
  await until('the platform has it', async () => (await app.timesAccepted(text)) === 1)
  expect(await run('rearm', deliveries[0]!.id)).toMatchObject({ code: 0, out: expect.stringMatching(/\/2$/) })
  // Its first run's call is still under way: the new run asks the platform, and what that call brings is not written down any more.
  expect((await tenant.settled(id)).status).toBe('published')
  expect((await tenant.attempts(deliveries[0]!)).map(({ look_up }) => look_up?.result)).toEqual(['found'])
  expect(await app.timesAccepted(text)).toBe(1)
  expect(await run('rearm', deliveries[0]!.id)).toMatchObject({
    code: 1,
    err: `${deliveries[0]!.id} is settled, or there is no such delivery. Nothing was changed.`,
  })
})

test('a failed delivery is sent again; one that may have landed only when somebody has looked', async () => {
  const failed = await tenant.settled((await tenant.post('once more [sandbox:auth_revoked*1]', [connection])).id)
  expect(failed.deliveries[0]).toMatchObject({ status: 'failed' })
  const other = await tenant.connect('other')
  const blind = await tenant.settled((await tenant.post('who knows [sandbox:drop-blind]', [other])).id)
  expect(blind.deliveries[0]).toMatchObject({ error_code: 'publish_indeterminate' })
  const id = blind.deliveries[0]!.id
  expect(await run('retry', id)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/was left as it is: .*may have landed.*--confirm-not-published/s),
  })
  expect(await run('retry', id, '--confirm-not-published')).toMatchObject({ code: 0, out: `${id} is pending again` })
  await until('it was sent again', async () => (await app.timesAccepted('who knows [sandbox:drop-blind]')) === 2)
})

test.each([
  [['rearm'], /rearm takes one delivery, or --all/],
  [['rearm', 'dlv_1', '--all'], /rearm takes one delivery, or --all/],
  [['rearm', 'dlv_1'], /dlv_1 is settled, or there is no such delivery/],
  [['retry'], /retry takes one delivery/],
  [['retry', 'dlv_1'], /There is no delivery dlv_1/],
])('%j is refused in words', async (args, words) => {
  expect(await run(...args)).toMatchObject({ code: 1, err: expect.stringMatching(words) })
})
