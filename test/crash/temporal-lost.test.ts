import { startApp, type App, type Tenant } from '../support/app.js'
import { ops } from '../support/ops.js'
import { deliveriesOf } from '../support/hooks.js'
import { Receiver } from '../support/receiver.js'
import { reserveTemporal } from '../support/temporal.js'
import { until } from '../support/until.js'

let temporal: Awaited<ReturnType<typeof reserveTemporal>>
let app: App
let tenant: Tenant
let connection: string
let receiver: Receiver

/** `sweep` false: nothing is driven on but by the operator. The namespace is there on the first server only, unless it is the default. */
async function start({ sweep, namespace = 'default' }: { sweep: boolean; namespace?: string }): Promise<void> {
  receiver = await new Receiver().start()
  temporal = await reserveTemporal()
  await temporal.start(namespace)
  app = await startApp({
    env: {
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: namespace,
      EGRESS_ALLOW: receiver.host,
      PAUSE_WAIT_MS: '600000',
      WEBHOOK_TIME_SCALE: '0.01',
      // Longer than an operator's command takes to start on a busy machine: what is to be under way, or between attempts, still is.
      CALL_TIMEOUT_MS: '25000',
      RETRY_FIRST_MS: '20000',
      ...(!sweep && { SWEEP_OVERDUE_MS: '600000' }),
    },
  })
  tenant = await app.tenant()
  connection = await tenant.connect()
}
afterEach(async () => {
  receiver.stop()
  await app.stop()
  await temporal.remove()
})

const run = (...args: string[]) =>
  ops(args, { DATABASE_URL: app.database.url, TEMPORAL_ADDRESS: temporal.address, SANDBOX_URL: app.url })
const inSeconds = (seconds: number) => ({ scheduled_at: new Date(Date.now() + seconds * 1_000).toISOString() })
const statusOf = async (id: string) => (await tenant.read(id)).deliveries[0]!.status

test('Temporal loses everything it knew: what waits, what is under way and what is paused goes out from the rows, once', async () => {
  await start({ sweep: false })
  const slow = 'under way [sandbox:slow=20]'
  const retried = 'between attempts [sandbox:platform_unavailable*1]'
  const ids = {
    published: (await tenant.settled((await tenant.post('long done', [connection])).id)).id,
    waiting: (await tenant.post('waiting', [connection], inSeconds(25))).id,
    retried: (await tenant.post(retried, [connection])).id,
    slow: (await tenant.post(slow, [connection])).id,
  }
  await until('the platform has the slow one', async () => (await app.timesAccepted(slow)) === 1)
  await run('pause', 'sandbox', '--reason', 'the drill')
  const paused = (await tenant.post('paused', [connection])).id
  await until('it waits', async () => (await tenant.read(paused)).deliveries[0]!.waiting_for !== null)
  expect((await tenant.attempts((await tenant.read(ids.slow)).deliveries[0]!)).map(({ state }) => state)).toEqual([
    'sent',
  ])
  await temporal.lose()
  const meanwhile = (await tenant.post('meanwhile', [connection])).id

  await temporal.start()
  expect(await run('temporal-setup')).toMatchObject({ code: 0 })
  const { out } = await run('rearm', '--all')
  expect(out).toBe('deliveries rearmed: 5; webhook lanes woken: 0')
  await run('resume', 'sandbox')

  for (const id of [...Object.values(ids), paused, meanwhile])
    expect([id, (await tenant.settled(id, 120_000)).status]).toEqual([id, 'published'])
  for (const text of ['long done', 'waiting', retried, slow, 'paused', 'meanwhile'])
    expect([text, await app.timesAccepted(text)]).toEqual([text, 1])
  const { deliveries } = await tenant.read(ids.waiting)
  expect(deliveries[0]!.started_at! >= deliveries[0]!.due_at!).toBe(true)
  expect(await app.sql`select 1 from outbox`).toHaveLength(0)
})

test('without anybody doing anything the sweep drives on what is late, once', async () => {
  await start({ sweep: true })
  const { id } = await tenant.post('left alone', [connection], inSeconds(6))
  await until('it was handed over', async () => (await app.sql`select 1 from outbox`).length === 0)
  await temporal.lose()
  await temporal.start()
  expect(await statusOf(id)).toBe('pending')
  expect((await tenant.settled(id, 120_000)).status).toBe('published')
  expect(await app.timesAccepted('left alone')).toBe(1)
})

test('events that a receiver has not taken are sent to it after the loss', async () => {
  await start({ sweep: false })
  receiver.answer('/events', 500)
  const { id: endpoint } = await receiver.register(tenant, '/events')
  await tenant.settled((await tenant.post('tell', [connection])).id)
  await receiver.untilReceived('/events')
  // A line that is left would wake the lane by itself.
  await until('all lines are carried out', async () => (await app.sql`select 1 from outbox`).length === 0)
  await temporal.lose()
  receiver.answer('/events', 204)
  await temporal.start()
  expect((await run('rearm', '--all')).out).toMatch(/webhook lanes woken: 1$/)
  await until('everything is told', async () => {
    const told = await deliveriesOf(tenant, endpoint)
    return told.length === 3 && told.every(({ status }) => status === 'succeeded')
  })
})

test('a worker whose namespace is gone does not stay as one that does nothing: it ends, and the next one goes on', async () => {
  await start({ sweep: true, namespace: 'ours' })
  const { id } = await tenant.post('goes on', [connection], inSeconds(5))
  await until('it was handed over', async () => (await app.sql`select 1 from outbox`).length === 0)
  await temporal.lose()
  await temporal.start()
  // The SDK holds out for a minute from where a poll began.
  const { process, lastLines } = app.worker!
  await until('it has ended', () => process.exitCode !== null || process.signalCode !== null, 120_000)
  expect([process.exitCode, process.signalCode]).toEqual([1, null])
  expect(lastLines()).toMatch(/The worker of the queue \S+ has given up/)
  expect(app.logs.join('\n')).toMatch(/Namespace ours is not found/)
  expect(await statusOf(id)).toBe('pending')

  expect(await ops(['temporal-setup'], app.environment)).toMatchObject({ code: 0 })
  await app.startWorker()
  expect((await tenant.settled(id, 120_000)).status).toBe('published')
  expect(await app.timesAccepted('goes on')).toBe(1)
})
