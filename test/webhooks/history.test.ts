import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { startApp, type App } from '../support/app.js'
import { deliveriesOf, sendTest, untilAttempted } from '../support/hooks.js'
import { Receiver } from '../support/receiver.js'
import { connectTemporal, showHistory, type HistoryEvent } from '../support/temporal.js'
import { until } from '../support/until.js'

let app: App
let receiver: Receiver
let temporal: Awaited<ReturnType<typeof connectTemporal>>
beforeAll(async () => {
  receiver = await new Receiver().start()
  ;[app, temporal] = await Promise.all([
    startApp({ worker: false, env: { EGRESS_ALLOW: receiver.host, SWEEP_OVERDUE_MS: '60000' } }),
    connectTemporal(),
  ])
})
afterAll(async () => {
  receiver.stop()
  await Promise.all([app.stop(), temporal.close()])
})

const count = (events: HistoryEvent[], name: string) =>
  events.filter(({ eventType }) => eventType === `EVENT_TYPE_${name}`).length

test('a lane costs history by the batch and not by the event, and waits on the queue of failing endpoints for what failed', async () => {
  const tenant = await app.tenant()
  const { id } = await receiver.register(tenant, '/history')
  let refused = 0
  receiver.answer('/history', (response) => void response.writeHead(refused++ < 3 ? 500 : 204).end())
  const sent = []
  for (let at = 0; at < 40; at++) sent.push(await sendTest(tenant, id))
  await app.startWorker()
  await untilAttempted(tenant, id, sent[0]!, 1)
  await until('all are taken', async () =>
    (await deliveriesOf(tenant, id)).every(({ status }) => status === 'succeeded'),
  )
  const handle = temporal.client.workflow.getHandle(`webhook/${id}`)
  await handle.result()
  const { events, json } = await showHistory(`webhook/${id}`)
  // One batch of healthy ones, then those of a failing endpoint until it answers, then healthy again.
  expect(count(events, 'ACTIVITY_TASK_COMPLETED')).toBeLessThanOrEqual(10)
  expect(events.length - count(events, 'WORKFLOW_EXECUTION_SIGNALED')).toBeLessThan(90)
  const queues = new Set([...json.matchAll(/"name": "(webhooks[a-z-]*?)-test_/g)].map(([, name]) => name))
  expect(queues).toEqual(new Set(['webhooks', 'webhooks-retry']))
  expect(json).not.toContain(receiver.host)
  if (process.env.RECORD_HISTORIES)
    await writeFile(fileURLToPath(new URL('../histories/deliver-webhooks.retried.json', import.meta.url)), json)
})
