import { CallSlots } from '../../../src/relay/deliveries/call-slots.js'
import { startApp } from '../../support/app.js'
import { FakeBluesky } from '../../support/fake-bluesky.js'
import { until } from '../../support/until.js'

const slots = () => new CallSlots({ concurrency: 2, fullRetryMs: 100 })
const waits = (slot: ReturnType<CallSlots['take']>) => (slot.release ? 0 : slot.inMs)

test('a platform has so many slots, each free again when it is released; another platform has its own', () => {
  const of = slots()
  const first = of.take('1', 'a')
  of.take('2', 'a')
  expect([of.take('3', 'a').release, typeof of.take('4', 'b').release]).toEqual([null, 'function'])
  first.release?.()
  expect([typeof of.take('3', 'a').release, of.take('5', 'a').release]).toEqual(['function', null])
})

test('a platform with a limit of its own has as many as that', () => {
  const of = slots()
  expect([typeof of.take('1', 'a', 1).release, of.take('2', 'a', 1).release]).toEqual(['function', null])
})

test('the longer the queue, the later it is to come back, up to a limit; asking again makes no queue longer', () => {
  const of = slots()
  of.take('1', 'a')
  of.take('2', 'a')
  const again = Array.from({ length: 2_000 }, () => waits(of.take('3', 'a')))
  expect(Math.max(...again)).toBeLessThanOrEqual(150)
  const delays = Array.from({ length: 2_000 }, (_, at) => waits(of.take(`x${at}`, 'a')))
  expect(Math.min(...delays.slice(-10))).toBeGreaterThanOrEqual(15_000)
  expect(Math.max(...delays)).toBeLessThanOrEqual(45_000)
})

test('a platform that hangs gets no more calls than its share, starves nobody, and everything is delivered in one attempt', async () => {
  const hanging = new FakeBluesky()
  await hanging.start()
  const env = { PUBLISH_SLOTS: '40', PLATFORM_CONCURRENCY: '10', FULL_RETRY_MS: '200', CALL_TIMEOUT_MS: '40000' }
  const app = await startApp({ env: { ...env, EGRESS_ALLOW: hanging.host } })
  try {
    const tenant = await app.tenant()
    const slow = await hanging.connect(tenant)
    const fine = await tenant.connect()
    const posts = await Promise.all(Array.from({ length: 60 }, (_, at) => tenant.post(`hangs ${at}`, [slow])))
    await until('its share is taken', () => hanging.underWay === 10)

    // More deliveries hang than the worker has slots, and one of another platform goes out all the same.
    const other = await tenant.settled((await tenant.post('another', [fine])).id, 20_000)
    expect([other.status, hanging.underWay, hanging.received.length]).toEqual(['published', 10, 10])
    const [{ count }] = await app.sql<[{ count: number }]>`
      select count(*)::int as count from attempts a join deliveries d on d.id = a.delivery_id where d.platform = 'bluesky'`
    expect(count).toBe(10) // whoever was turned away has none

    hanging.letGo()
    for (const { id } of posts)
      expect(await tenant.settled(id)).toMatchObject({ status: 'published', deliveries: [{ attempts: 1 }] })
    expect([new Set(hanging.received).size, hanging.received.length, hanging.most]).toEqual([60, 60, 10])
  } finally {
    hanging.stop()
    await app.stop()
  }
})
