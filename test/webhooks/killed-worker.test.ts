import { startApp, untilCrashed, type Tenant } from '../support/app.js'
import { deliveriesOf, sendTest } from '../support/hooks.js'
import { Receiver } from '../support/receiver.js'
import { until } from '../support/until.js'

const allTaken = (tenant: Tenant, id: string) =>
  until('all are taken', async () => {
    const rows = await deliveriesOf(tenant, id)
    return rows.every(({ status }) => status === 'succeeded') && rows
  })

test.concurrent.each(['webhook.claimed', 'webhook.answered'] as const)(
  'a worker killed in the middle of a batch at %s: each event arrives, repeats under the same id',
  async (point) => {
    const receiver = await new Receiver().start()
    const app = await startApp({ worker: false, env: { EGRESS_ALLOW: receiver.host } })
    try {
      const tenant = await app.tenant()
      const path = `/killed/${point}`
      const { id } = await receiver.register(tenant, path)
      await app.sql`update webhook_endpoints set proven = true where id = ${id}` // so that four go at once
      const sent = await Promise.all(Array.from({ length: 6 }, () => sendTest(tenant, id)))
      const crashing = await app.startWorker({ CRASH_AT: point })
      await untilCrashed(crashing, point)
      const before = receiver.at(path).length
      const claimed = (await app.sql`select from webhook_attempts where endpoint_id = ${id}`).length
      expect([claimed, point === 'webhook.claimed' ? before === 0 : before > 0]).toEqual([4, true])

      await app.startWorker()
      const rows = await allTaken(tenant, id)
      expect(rows.map((row) => row.id).sort()).toEqual(sent.toSorted())
      const ids = receiver.at(path).map(({ headers }) => String(headers['x-relay-delivery']))
      expect(new Set(ids)).toEqual(new Set(sent))
      const lost = rows.flatMap(({ attempts }) => attempts.filter(({ error }) => error?.includes('worker was lost')))
      expect(lost).toHaveLength(4)
      const again = ids.length - new Set(ids).size
      expect(point === 'webhook.claimed' ? again === 0 : again >= before - 1 && again > 0).toBe(true)
    } finally {
      receiver.stop()
      await app.stop()
    }
  },
)
