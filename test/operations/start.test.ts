import { tmpdir } from 'node:os'
import { createTestDatabase, type TestDatabase } from '../support/database.js'
import { until } from '../support/until.js'
import { startWaiting } from '../support/waiting-process.js'

const CLOSED = '127.0.0.1:1'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test.each<['api' | 'worker', 'database' | 'temporal', () => string]>([
  ['api', 'database', () => `postgres://nobody@${CLOSED}/none`],
  ['worker', 'database', () => `postgres://nobody@${CLOSED}/none`],
  ['worker', 'temporal', () => database.url],
])('the %s that is asked to end while its %s is away ends at once, and well', async (name, part, url) => {
  const waiting = await startWaiting(name, {
    DATABASE_URL: url(),
    TEMPORAL_ADDRESS: CLOSED,
    MEDIA_DIR: tmpdir(),
  })
  const says = new RegExp(`"part":"${part}".*start\\.waiting`)
  try {
    await until('it says that it waits', () => waiting.logs.some((line) => says.test(line)))
    expect(await waiting.ask('/healthz')).toEqual({ code: 200, status: 'ok' })
    expect(await waiting.ask('/readyz')).toMatchObject({ code: 503, status: 'starting', checks: { [part]: 'away' } })
    waiting.process.kill('SIGTERM')
    await until('it has ended', () => !waiting.lives(), 5_000)
    expect([waiting.process.exitCode, waiting.process.signalCode]).toEqual([0, null])
  } finally {
    await waiting.stop()
  }
})
