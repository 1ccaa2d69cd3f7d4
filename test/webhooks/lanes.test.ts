import type { ServerResponse } from 'node:http'
import { startApp, type App, type Tenant } from '../support/app.js'
import { deliveriesOf, sendTest, untilAttempted } from '../support/hooks.js'
import { Receiver } from '../support/receiver.js'
import { connectTemporal } from '../support/temporal.js'
import { until } from '../support/until.js'

let receiver: Receiver
beforeAll(async () => {
  receiver = await new Receiver().start()
})
afterAll(() => receiver.stop())

const allTaken = (tenant: Tenant, id: string) =>
  until('all are taken', async () => {
    const rows = await deliveriesOf(tenant, id)
    return rows.every(({ status }) => status === 'succeeded') && rows
  })

describe('the lane of an endpoint', () => {
  let app: App
  let tenant: Tenant
  let temporal: Awaited<ReturnType<typeof connectTemporal>>
  beforeAll(async () => {
    ;[app, temporal] = await Promise.all([
      startApp({ env: { EGRESS_ALLOW: receiver.host, WEBHOOK_TIMEOUT_MS: '20000' } }),
      connectTemporal(),
    ])
    tenant = await app.tenant(undefined, { limits: { webhook_endpoints: -1 } })
  })
  afterAll(() => Promise.all([app.stop(), temporal.close()]))

  test('that an operator terminated while it waited is woken by the sweep, and sends', async () => {
    const { id } = await receiver.register(tenant, '/terminated')
    receiver.answer('/terminated', 500)
    const delivery = await sendTest(tenant, id)
    await untilAttempted(tenant, id, delivery, 3)
    receiver.answer('/terminated', 204)
    await temporal.client.workflow.getHandle(`webhook/${id}`).terminate('by the test')
    await allTaken(tenant, id)
    const runs = await temporal.client.workflow.getHandle(`webhook/${id}`).describe()
    expect(runs.status.name).not.toBe('TERMINATED')
  })

  test('ends when nothing is due, and lives again under the same id', async () => {
    const { id } = await receiver.register(tenant, '/lives')
    const ended = async () => {
      const handle = temporal.client.workflow.getHandle(`webhook/${id}`)
      await handle.result()
      return (await handle.describe()).runId
    }
    await sendTest(tenant, id)
    await receiver.untilReceived('/lives', 1)
    const first = await ended()
    await sendTest(tenant, id)
    await receiver.untilReceived('/lives', 2)
    expect(await ended()).not.toBe(first)
  })

  test('costs nothing of the others: of a hundred endpoints, half hang, and the other half is told everything meanwhile', async () => {
    const paths = Array.from({ length: 100 }, (_, at) => `/hundred/${at}`)
    for (const path of paths) await receiver.register(tenant, path, ['post.created'])
    const connection = await tenant.connect()
    const tell = () => tenant.post('to all', [connection], { draft: true, allow_duplicate: true })
    await tell()
    for (const path of paths) await receiver.untilReceived(path)
    const [dead, healthy] = [paths.slice(0, 50), paths.slice(50)]
    const held: ServerResponse[] = []
    for (const path of dead) receiver.answer(path, (response) => void held.push(response))
    for (let count = 0; count < 3; count++) await tell()
    for (const path of healthy) await receiver.untilReceived(path, 4, 18_000)
    const of = (condition: string) =>
      app.sql`
        select from webhook_attempts a join webhook_endpoints e on e.id = a.endpoint_id
         where e.url = any (${dead.map((path) => receiver.urlOf(path))}) and a.number = 1 and a.http_status is null
           and ${condition === 'ended' ? app.sql`a.duration_ms is not null` : app.sql`a.duration_ms is null`}`
    // Those that hang have not even run out of time yet.
    expect([(await of('ended')).length, (await of('open')).length >= 50]).toEqual([0, true])
    for (const path of dead) receiver.answer(path, 204)
    for (const response of held) response.writeHead(204).end()
  })
})

test('what is older than thirty days is removed, and what is pending stays', async () => {
  const app = await startApp({ env: { EGRESS_ALLOW: receiver.host } })
  try {
    const tenant = await app.tenant()
    const { id } = await receiver.register(tenant, '/old')
    const [kept, old] = [await sendTest(tenant, id), await sendTest(tenant, id)]
    await allTaken(tenant, id)
    receiver.answer('/old', 500)
    const pending = await sendTest(tenant, id)
    await untilAttempted(tenant, id, pending)
    await app.sql`update webhook_deliveries set created_at = now() - interval '31 days' where id in (${old}, ${pending})`
    await until('the old one is gone', async () => {
      const ids = (await deliveriesOf(tenant, id)).map((row) => row.id)
      return !ids.includes(old) && ids.includes(kept) && ids.includes(pending)
    })
    expect(await app.sql`select from webhook_attempts where delivery_id = ${old}`).toHaveLength(0)
  } finally {
    await app.stop()
  }
})
