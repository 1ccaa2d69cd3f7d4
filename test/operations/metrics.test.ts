import { createMetrics } from '../../src/operations/metrics.js'
import { startApp, type App } from '../support/app.js'
import { sendTest, untilAttempted } from '../support/hooks.js'
import { Receiver } from '../support/receiver.js'
import { until } from '../support/until.js'

let app: App
let receiver: Receiver
beforeAll(async () => {
  receiver = await new Receiver().start()
  app = await startApp({ env: { EGRESS_ALLOW: receiver.host } })
})
afterAll(() => {
  receiver.stop()
  return app.stop()
})

async function scrape(process: App['api']): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${String(process?.facts['metricsPort'])}/metrics`)
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  return answer.text()
}

/** The value of a series as `name{labels}`; null when it is not there. */
function valueOf(text: string, series: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? null : Number(line.split(' ')[1])
}

const requests = (method: string, route: string, status: number) =>
  `relay_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`

test('the api counts requests by route template, replays and refusals, and tells of nobody', async () => {
  const tenant = await app.tenant()
  const connection = await tenant.connect()
  const body = { content: { text: 'counted' }, connection_ids: [connection] }
  const { data } = (await tenant.call<{ id: string }>('POST', '/v1/posts', body, { 'idempotency-key': 'once' })).body
  await tenant.call('POST', '/v1/posts', body, { 'idempotency-key': 'once' })
  await tenant.call('GET', `/v1/posts/${data.id}`)
  await tenant.call('GET', '/v1/posts?external_id=canary')
  await tenant.call('PUT', `/v1/posts/${data.id}`)
  await tenant.call('GET', '/v1/nothing/of/that/name')
  await tenant.settled(data.id)
  const hasty = await app.tenant(undefined, { limits: { requests_per_minute: 1 } })
  for (let count = 0; count < 3; count++) await hasty.call('GET', '/v1/posts')

  const text = await scrape(app.api)
  expect(valueOf(text, requests('POST', '/v1/posts', 202))).toBe(2)
  expect(valueOf(text, requests('GET', '/v1/posts/{id}', 200))).toBeGreaterThanOrEqual(1)
  expect(valueOf(text, requests('PUT', '/v1/posts/{id}', 405))).toBe(1)
  expect(valueOf(text, requests('GET', 'none', 404))).toBe(1)
  expect(valueOf(text, requests('POST', '/sandbox', 200))).toBeGreaterThanOrEqual(2)
  expect(valueOf(text, 'relay_idempotent_replays_total')).toBe(1)
  // A minute may end in between, and the first request of the next one is not refused.
  expect(valueOf(text, requests('GET', '/v1/posts', 429))).toBe(valueOf(text, 'relay_rate_limited_total'))
  expect(valueOf(text, 'relay_rate_limited_total')).toBeGreaterThanOrEqual(1)
  expect(valueOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  expect(text).toContain('nodejs_eventloop_lag_seconds ')
  for (const secret of [tenant.key, tenant.keyId, tenant.organisationId, data.id, connection, 'external_id', 'canary'])
    expect(text).not.toContain(secret)
})

test('the worker counts attempts by how they ended, and shows the numbers of the Temporal SDK', async () => {
  const tenant = await app.tenant()
  const connection = await tenant.connect()
  const posts = ['taken', 'late [sandbox:rate_limited*1]', 'refused [sandbox:content_rejected]']
  const before = await scrape(app.worker)
  const attempts = (state: string, code: string) =>
    `relay_attempts_total{platform="sandbox",state="${state}",code="${code}"}`
  const since = (after: string, series: string) => (valueOf(after, series) ?? 0) - (valueOf(before, series) ?? 0)
  for (const text of posts) await tenant.settled((await tenant.post(text, [connection])).id)

  const text = await scrape(app.worker)
  expect(since(text, attempts('accepted', 'none'))).toBe(2)
  expect(since(text, attempts('refused', 'rate_limited'))).toBe(1)
  expect(since(text, attempts('refused', 'content_rejected'))).toBe(1)
  expect(text).toMatch(/^temporal_worker_task_slots_available\{.*\} \d+$/m)
  expect(valueOf(text, 'relay_scrape_failures_total{source="temporal_sdk"}')).toBeNull()
  for (const id of [tenant.organisationId, connection]) expect(text).not.toContain(id)
})

test('the worker counts attempts at webhooks and how late the first ones are; open breakers are told', async () => {
  const tenant = await app.tenant()
  const { id } = await receiver.register(tenant, '/counted')
  const before = await scrape(app.worker)
  const since = (after: string, series: string) => (valueOf(after, series) ?? 0) - (valueOf(before, series) ?? 0)
  await untilAttempted(tenant, id, await sendTest(tenant, id))
  receiver.answer('/counted', 301)
  await untilAttempted(tenant, id, await sendTest(tenant, id), 2)
  await app.sql`update webhook_endpoints set probe_at = now() + interval '1 hour' where id = ${id}`
  const text = await until('the attempts are counted', async () => {
    const text = await scrape(app.worker)
    return since(text, 'relay_webhook_attempts_total{result="redirected"}') >= 2 && text
  })
  expect(since(text, 'relay_webhook_attempts_total{result="succeeded"}')).toBe(1)
  expect(since(text, 'relay_webhook_first_attempt_lag_seconds_count')).toBe(2)
  expect(since(text, 'relay_webhook_first_attempt_lag_seconds_sum')).toBeGreaterThan(0)
  expect(valueOf(text, 'relay_webhook_breakers_open')).toBe(1)
  expect(valueOf(text, 'relay_webhook_deliveries_pending')).toBe(1)
  expect(text).not.toContain(id)
})

test('both tell how much waits, and since when', async () => {
  await app.sql`
    insert into outbox (command, workflow_id, args, created_at, next_try_at)
    values ('start_delivery', 'delivery/none/1', '{}', now() - interval '1 hour', now() + interval '1 hour')`
  for (const process of [app.api, app.worker]) {
    const text = await scrape(process)
    expect(valueOf(text, 'relay_outbox_lines')).toBe(1)
    expect(valueOf(text, 'relay_outbox_oldest_line_seconds')).toBeGreaterThanOrEqual(3_600)
  }
  await app.sql`delete from outbox`
  const tenant = await app.tenant()
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString()
  await tenant.post('later', [await tenant.connect()], { scheduled_at })
  expect(valueOf(await scrape(app.api), 'relay_deliveries_unsettled{status="pending"}')).toBe(1)
})

test('deliveries that nobody carries out are overdue, and the sweep counts its pokes', async () => {
  const idle = await startApp({ worker: false })
  try {
    const tenant = await idle.tenant()
    await tenant.post('nobody home', [await tenant.connect()])
    const poked = async () => valueOf(await scrape(idle.api), 'relay_sweep_poked_total') ?? 0
    await until('the sweep poked', async () => (await poked()) >= 1)
    await until('it is told as overdue', async () => valueOf(await scrape(idle.api), 'relay_deliveries_overdue') === 1)
  } finally {
    await idle.stop()
  }
})

test('a source that does not answer is left out and counted; the rest is told', async () => {
  const sources = { backlog: () => Promise.reject(new Error('away')), other: async () => 'other_metric 1\n' }
  const logged: string[] = []
  const metrics = createMetrics({
    sources,
    log: { warn: (_it: unknown, text?: string) => logged.push(text ?? '') as never },
  })
  const { text } = await metrics.expose()
  expect(valueOf(text, 'relay_scrape_failures_total{source="backlog"}')).toBe(1)
  expect(valueOf(text, 'other_metric')).toBe(1)
  expect(text).not.toContain('relay_outbox')
  expect(logged).toEqual(['metrics.left_out'])
})
