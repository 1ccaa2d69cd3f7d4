import { setTimeout as sleep } from 'node:timers/promises'
import { connectDatabase } from '../../src/db/client.js'
import { migrate } from '../../src/db/migrate.js'
import { App, FAST, startApp } from '../support/app.js'
import { countWaiting } from '../support/lock-holder.js'
import { startOwnPostgres } from '../support/postgres.js'
import { reserveTemporal } from '../support/temporal.js'
import { until } from '../support/until.js'
import { freePort } from '../../tools/stack/ports.js'

const AWAY_MS = 20_000

test('Temporal is away for twenty seconds: what waited, what was under way and what came meanwhile all go out once', async () => {
  const temporal = await reserveTemporal()
  await temporal.start()
  const app = await startApp({ env: { TEMPORAL_ADDRESS: temporal.address } })
  try {
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    const due = new Date(Date.now() + 5_000).toISOString()
    const posts = [
      ['waited', await tenant.post('waited', [connection], { scheduled_at: due })],
      ['under way [sandbox:slow=1]', await tenant.post('under way [sandbox:slow=1]', [connection])],
    ] as [string, { id: string }][]
    await until(
      'the platform has the one under way',
      async () => (await app.timesAccepted('under way [sandbox:slow=1]')) === 1,
    )
    await temporal.stop()
    posts.push(['meanwhile', await tenant.post('meanwhile', [connection])])
    await sleep(AWAY_MS) // the fault itself
    await temporal.start()
    for (const [text, { id }] of posts) {
      expect((await tenant.settled(id, 60_000)).status).toBe('published')
      expect(await app.timesAccepted(text)).toBe(1)
    }
  } finally {
    await app.stop()
    await temporal.remove()
  }
})

test('PostgreSQL is killed and comes back: 503 meanwhile, and everything accepted goes out once', async () => {
  const own = await startOwnPostgres()
  const sql = connectDatabase({ url: own.url, name: 'test', max: 5 })
  await migrate(sql)
  const port = await freePort()
  const app = new App({ url: own.url, sql, drop: () => sql.end({ timeout: 1 }) }, port, {
    ...FAST,
    DATABASE_URL: own.url,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
    TASK_QUEUE_SUFFIX: `-${port}`,
    SANDBOX_URL: `http://127.0.0.1:${port}`,
    LOG_LEVEL: 'warn',
    PORT: String(port),
  })
  try {
    await Promise.all([app.startApi(), app.startWorker()])
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    const later = await tenant.post('later', [connection], { scheduled_at: new Date(Date.now() + 3_000).toISOString() })
    const slow = await tenant.post('slow [sandbox:slow=1]', [connection])
    await until('the platform has it', async () => (await app.timesAccepted('slow [sandbox:slow=1]')) === 1)
    // Requests in the middle of a transaction when it goes: the driver must not take the processes with it.
    const holding = sql.begin(async (tx) => {
      await tx`select from connections where id = ${connection} for update`
      await sleep(600_000, undefined, { ref: false })
    })
    holding.catch(() => 'ended with the server')
    const blocked = Array.from({ length: 8 }, () =>
      tenant.call('PATCH', `/v1/connections/${connection}`, { metadata: { a: 1 } }),
    )
    // Not all of them: the driver may send one behind another's statement on the same connection.
    const inTheMiddle = 5
    const waiting = () => countWaiting(sql, { of: 'api', text: 'update connections' })
    await until('they wait for the lock', async () => (await waiting()) >= inTheMiddle)
    own.kill()
    const refused = await until('the api notices', async () => {
      const answer = await tenant.call('POST', '/v1/posts', {
        content: { text: 'refused' },
        connection_ids: [connection],
      })
      return answer.status !== 202 && answer
    })
    expect([refused.status, refused.body.error.code]).toEqual([503, 'service_unavailable'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    await own.startAgain()
    const statuses = (await Promise.all(blocked)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThanOrEqual(inTheMiddle)
    // What had not been sent yet may find the server back.
    expect([200, 503]).toEqual(expect.arrayContaining(statuses))
    for (const [text, { id }] of [
      ['later', later],
      ['slow [sandbox:slow=1]', slow],
    ] as const) {
      const post = await until('the api answers', () => tenant.settled(id, 40_000).catch(() => null), 50_000)
      expect(post.status).toBe('published')
      expect(await app.timesAccepted(text)).toBe(1)
    }
    expect(await app.timesAccepted('refused')).toBe(0)
    expect([app.api, app.worker].map((child) => child?.process.exitCode ?? child?.process.signalCode)).toEqual([
      null,
      null,
    ])
  } finally {
    await app.stop()
    await own.remove()
  }
})
