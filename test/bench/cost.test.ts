import { connectDatabase } from '../../src/db/client.js'
import { migrate } from '../../src/db/migrate.js'
import { readStatements, resetStatements } from '../../tools/bench/statements.js'
import { freePort } from '../../tools/stack/ports.js'
import { App, FAST } from '../support/app.js'
import { startOwnPostgres } from '../support/postgres.js'
import { connectTemporal } from '../support/temporal.js'
import { until } from '../support/until.js'

let own: Awaited<ReturnType<typeof startOwnPostgres>>
let temporal: Awaited<ReturnType<typeof connectTemporal>>
let app: App

beforeAll(async () => {
  ;[own, temporal] = await Promise.all([
    startOwnPostgres(['shared_preload_libraries=pg_stat_statements']),
    connectTemporal(),
  ])
  const sql = connectDatabase({ url: own.url, name: 'test', max: 5 })
  await migrate(sql)
  await sql`create extension pg_stat_statements`
  const port = await freePort()
  app = new App({ url: own.url, sql, drop: () => sql.end({ timeout: 1 }) }, port, {
    ...FAST,
    // Woken by nudge and NOTIFY alone, so that nothing is counted that merely passes the time.
    OUTBOX_POLL_MS: '60000',
    OUTBOX_LEASE_MS: '60000',
    SWEEP_EVERY_MS: '600000',
    DATABASE_URL: own.url,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
    TASK_QUEUE_SUFFIX: `-${port}`,
    SANDBOX_URL: `http://127.0.0.1:${port}`,
    LOG_LEVEL: 'warn',
    PORT: String(port),
  })
  await Promise.all([app.startApi(), app.startWorker()])
})
afterAll(async () => {
  await Promise.all([app.stop(), temporal.close()])
  await own.remove()
})

/** Not asked over the API, whose statements are counted. */
const settled = (id: string) =>
  until(`${id} is settled`, async () => {
    const rows = await app.sql`select /* bench */ 1 from posts where id = ${id} and settled_at is not null`
    return rows.length === 1
  })
const isLoop = ({ text }: { text: string }) => /^\s*(with taken as \(\s*update|update|delete from) outbox/.test(text)
const callsOf = (statements: { calls: number }[]) => statements.reduce((sum, { calls }) => sum + calls, 0)

test('a delivery that succeeds at once costs 11 history events, 12 statements to publish and 13 to accept', async () => {
  const tenant = await app.tenant()
  const connections = await Promise.all(Array.from({ length: 5 }, (_, at) => tenant.connect(`account ${at}`)))
  await settled((await tenant.post('warms up', connections)).id)

  await until('the outbox is empty', async () => (await app.sql`select /* bench */ from outbox`).length === 0)
  await resetStatements(app.sql)
  const { id, deliveries } = await tenant.post('counted', [connections[0]!])
  await settled(id)
  const statements = await readStatements(app.sql)
  const shown = statements.map(({ text, calls }) => `${calls} ${text.replaceAll(/\s+/g, ' ').trim().slice(0, 60)}`)
  expect({ calls: callsOf(statements.filter((each) => !isLoop(each))), shown }).toEqual({ calls: 25, shown })
  // Nudge and NOTIFY wake the loops of both processes; how often two wakes are one is a matter of moments.
  const loop = callsOf(statements.filter(isLoop))
  expect(loop).toBeGreaterThanOrEqual(2)
  expect(loop).toBeLessThanOrEqual(6)

  const handle = temporal.client.workflow.getHandle(`delivery/${deliveries[0]!.id}/1`)
  await handle.result()
  expect((await handle.fetchHistory()).events).toHaveLength(11)
})

test('each further account of a post costs 10 statements, as its post is settled once, and nothing more to accept', async () => {
  const tenant = await app.tenant()
  const connections = await Promise.all(Array.from({ length: 5 }, (_, at) => tenant.connect(`account ${at}`)))
  let round = 0
  const count = async (destinations: string[]) => {
    await resetStatements(app.sql)
    const { id } = await tenant.post(`counted ${(round += 1)}`, destinations)
    await settled(id)
    return callsOf((await readStatements(app.sql)).filter((each) => !isLoop(each)))
  }
  await count(connections)
  const [one, five] = [await count(connections.slice(0, 1)), await count(connections)]
  expect({ one, five }).toEqual({ one: 25, five: 25 + 4 * 10 })
})
