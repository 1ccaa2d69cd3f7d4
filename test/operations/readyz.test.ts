import { connectDatabase } from '../../src/db/client.js'
import { migrate } from '../../src/db/migrate.js'
import { freePort } from '../../tools/stack/ports.js'
import { App, FAST } from '../support/app.js'
import { startOwnPostgres } from '../support/postgres.js'
import { reserveTemporal } from '../support/temporal.js'
import { countWaiting } from '../support/lock-holder.js'
import { until } from '../support/until.js'

let own: Awaited<ReturnType<typeof startOwnPostgres>>
let temporal: Awaited<ReturnType<typeof reserveTemporal>>
let app: App

beforeAll(async () => {
  ;[own, temporal] = await Promise.all([startOwnPostgres(), reserveTemporal()])
  const sql = connectDatabase({ url: own.url, name: 'test', max: 15 })
  await migrate(sql)
  const port = await freePort()
  app = new App({ url: own.url, sql, drop: () => sql.end({ timeout: 1 }) }, port, {
    ...FAST,
    DATABASE_URL: own.url,
    TEMPORAL_ADDRESS: temporal.address,
    SANDBOX_URL: `http://127.0.0.1:${port}`,
    LOG_LEVEL: 'error',
    PORT: String(port),
  })
  await Promise.all([app.startApi(), temporal.start()])
  await app.startWorker()
})
afterAll(async () => {
  await app.stop()
  await Promise.all([own.remove(), temporal.remove()])
})

const ask = async (url: string) => {
  const response = await fetch(url)
  return {
    code: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: (await response.json()) as { status: string; checks: Record<string, string> },
  }
}
const api = () => ask(`${app.url}/readyz`)
const worker = () => ask(`http://127.0.0.1:${String(app.worker?.facts['metricsPort'])}/readyz`)

test('both are ready while everything answers', async () => {
  await until('the api has met Temporal', async () => (await api()).body.checks['temporal'] === 'ok')
  expect(await api()).toMatchObject({
    code: 200,
    body: { status: 'ready', checks: { database: 'ok', temporal: 'ok' } },
  })
  expect(await worker()).toMatchObject({
    code: 200,
    body: { status: 'ready', checks: { database: 'ok', temporal: 'ok', worker: 'ok' } },
  })
})

test('a pool that is used up does not keep the api from saying that it is ready', async () => {
  const tenant = await app.tenant()
  const connection = await tenant.connect()
  let letGo = () => undefined as void
  const held = new Promise<void>((resolve) => (letGo = resolve))
  const holding = app.sql.begin(async (tx) => {
    await tx`select from connections where id = ${connection} for update`
    await held
  })
  const change = () => tenant.call('PATCH', `/v1/connections/${connection}`, { metadata: { a: 1 } })
  const blocked = Array.from({ length: 15 }, change)
  await until('the pool is used up', async () => (await countWaiting(app.sql, { of: 'api' })) === 10)
  const begun = performance.now()
  const probed = await Promise.all(Array.from({ length: 50 }, api))
  expect(performance.now() - begun).toBeLessThan(5_000)
  expect(probed.map(({ code }) => code)).toEqual(probed.map(() => 200))
  const probing =
    await app.sql`select 1 from pg_stat_activity where datname = current_database() and application_name = 'api probe'`
  expect(probing).toHaveLength(1)
  letGo()
  await holding
  expect((await Promise.all(blocked)).map(({ status }) => status)).toEqual(blocked.map(() => 200))
})

test('without Temporal the api stays ready and says so; the worker is not', async () => {
  await temporal.stop()
  const away = await until('the worker is not ready', async () => worker().then((it) => it.code === 503 && it))
  expect(away).toMatchObject({
    retryAfter: '1',
    body: { status: 'unready', checks: { database: 'ok', temporal: 'away' } },
  })
  expect(await api()).toMatchObject({ code: 200, body: { status: 'ready', checks: { temporal: 'away' } } })
  const tenant = await app.tenant()
  const post = await tenant.post('accepted without Temporal', [await tenant.connect()])
  await temporal.start()
  await until('the worker is ready again', async () => (await worker()).code === 200)
  expect((await tenant.settled(post.id)).status).toBe('published')
})

test('without the database both are unready and alive, and ready again when it is back', async () => {
  const read = async () => Promise.all([api(), worker()])
  own.kill()
  const [first, second] = await until('both notice', async () => {
    const both = await read()
    return both.every(({ code }) => code === 503) && both
  })
  expect(first).toMatchObject({ retryAfter: '1', body: { status: 'unready', checks: { database: 'away' } } })
  expect(second).toMatchObject({ retryAfter: '1', body: { status: 'unready', checks: { database: 'away' } } })
  expect((await fetch(`${app.url}/healthz`)).status).toBe(200)
  await own.startAgain()
  await until('both are ready', async () => (await read()).every(({ code }) => code === 200))
})
