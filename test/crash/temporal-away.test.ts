import { enqueueDeliveries } from '../../src/outbox/outbox.js'
import { startApp, type App } from '../support/app.js'
import { connectTemporal, reserveTemporal } from '../support/temporal.js'
import { until } from '../support/until.js'

test('Temporal is away when a post is accepted: 202, and it goes out once Temporal is there', async () => {
  const temporal = await reserveTemporal()
  const app = await startApp({ worker: false, env: { TEMPORAL_ADDRESS: temporal.address } })
  try {
    const tenant = await app.tenant()
    const { id } = await tenant.post('patient', [await tenant.connect()])
    const line = await until(
      'the line was tried',
      async () =>
        (
          await app.sql<
            { last_error: string }[]
          >`select last_error from outbox where tries > 0 and last_error is not null`
        )[0],
    )
    expect(line.last_error).toMatch(/\w/)
    expect((await tenant.read(id)).status).toBe('queued')

    const worker = app.startWorker()
    await temporal.start()
    await worker
    expect((await tenant.settled(id)).status).toBe('published')
    expect(await app.timesAccepted('patient')).toBe(1)
    expect(await app.sql`select 1 from outbox`).toHaveLength(0)
  } finally {
    await app.stop()
    await temporal.remove()
  }
})

describe('a run that an operator terminated', () => {
  let app: App
  let temporal: Awaited<ReturnType<typeof connectTemporal>>
  beforeAll(async () => {
    ;[app, temporal] = await Promise.all([startApp(), connectTemporal()])
  })
  afterAll(() => Promise.all([app.stop(), temporal.close()]))

  const terminate = async (deliveryId: string) => {
    const handle = temporal.client.workflow.getHandle(`delivery/${deliveryId}/1`)
    await until('the run was started', () => handle.describe().catch(() => null))
    await handle.terminate('by the test')
  }
  const generationOf = async (id: string) =>
    (await app.sql<{ generation: number }[]>`select generation from deliveries where id = ${id}`)[0]?.generation

  test('while it waited for its time is re-armed, and the post goes out', async () => {
    const tenant = await app.tenant()
    const dueAt = new Date(Date.now() + 1_500).toISOString()
    const { id, deliveries } = await tenant.post('terminated early', [await tenant.connect()], { scheduled_at: dueAt })
    await terminate(deliveries[0]!.id)
    expect((await tenant.settled(id)).status).toBe('published')
    expect(await generationOf(deliveries[0]!.id)).toBe(2)
    expect(await app.timesAccepted('terminated early')).toBe(1)
  })

  test('in the middle of a call is re-armed, and what landed is not sent again', async () => {
    const tenant = await app.tenant()
    const text = 'terminated late [sandbox:slow=3]'
    const { id, deliveries } = await tenant.post(text, [await tenant.connect()])
    await until('the platform has it', async () => (await app.timesAccepted(text)) === 1)
    await terminate(deliveries[0]!.id)
    expect((await tenant.settled(id)).status).toBe('published')
    expect(await app.timesAccepted(text)).toBe(1)
  })

  test('after it settled the delivery: a poke changes nothing', async () => {
    const tenant = await app.tenant()
    const post = await tenant.settled((await tenant.post('settled', [await tenant.connect()])).id)
    const id = post.deliveries[0]!.id
    await temporal.client.workflow.getHandle(`delivery/${id}/1`).result()
    await enqueueDeliveries(app.sql, 'poke_delivery', [id])
    await until('the poke was carried out', async () => (await app.sql`select 1 from outbox`).length === 0)
    expect(await generationOf(id)).toBe(1)
    expect(await app.timesAccepted('settled')).toBe(1)
  })
})

test('a post that is cancelled before Temporal ever heard of it leaves no run behind', async () => {
  const temporal = await reserveTemporal()
  const app = await startApp({ worker: false, env: { TEMPORAL_ADDRESS: temporal.address } })
  try {
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    const ahead = { scheduled_at: new Date(Date.now() + 3_600_000).toISOString() }
    const posts = await Promise.all(
      Array.from({ length: 10 }, (_, at) => tenant.post(`cancelled ${at}`, [connection], ahead)),
    )
    for (const { id } of posts) await tenant.call('DELETE', `/v1/posts/${id}`)
    await temporal.start()
    await until('the outbox is empty', async () => (await app.sql`select 1 from outbox`).length === 0)
    const { client, close } = await connectTemporal(temporal.address)
    for (const { deliveries } of posts) {
      const handle = client.workflow.getHandle(`delivery/${deliveries[0]!.id}/1`)
      // A cancel wakes the run out of its delay; with no worker here it waits to be told, and is not asleep for an hour.
      const history = await handle.fetchHistory()
      expect(history.events?.some(({ workflowExecutionCancelRequestedEventAttributes: asked }) => asked)).toBe(true)
    }
    await close()
  } finally {
    await app.stop()
    await temporal.remove()
  }
})
