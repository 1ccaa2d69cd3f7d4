import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectDatabase } from '../../src/db/client.js'
import { migrate } from '../../src/db/migrate.js'
import type { Media } from '../../src/relay/media/schema.js'
import { freePort } from '../../tools/stack/ports.js'
import { findVersitygw, startVersitygw } from '../../tools/stack/versitygw.js'
import { App, FAST } from '../support/app.js'
import { anImage } from '../support/files.js'
import { ops } from '../support/ops.js'
import { startOwnPostgres } from '../support/postgres.js'
import { reserveTemporal } from '../support/temporal.js'
import { until } from '../support/until.js'
import { startWaiting } from '../support/waiting-process.js'

const ABSENT_MS = 120_000
const LOOK_EVERY_MS = 5_000
/** Both try to connect at least every five seconds, whatever they wait for; the rest is the machine. */
const NOTICED_WITHIN_MS = 30_000

const STARTING = { code: 503, status: 'starting' }
const READY = { code: 200, status: 'ready' }

test('api and worker that were there two minutes before everything else go to work by themselves as the parts come', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'relay-late-'))
  const binary = await findVersitygw((line) => void process.stdout.write(`${line}\n`))
  const [own, temporal, s3Port, port] = await Promise.all([
    startOwnPostgres(),
    reserveTemporal(),
    freePort(),
    freePort(),
  ])
  const sql = connectDatabase({ url: own.url, name: 'test', max: 5 })
  await migrate(sql)
  own.kill()
  const secretAccessKey = 'late-parts-secret'
  const app = new App({ url: own.url, sql, drop: () => sql.end({ timeout: 1 }) }, port, {
    ...FAST,
    DATABASE_URL: own.url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: 'late',
    S3_ENDPOINT: `http://127.0.0.1:${s3Port}`,
    S3_BUCKET: 'media',
    S3_REGION: 'us-east-1',
    S3_ACCESS_KEY_ID: 'test',
    S3_SECRET_ACCESS_KEY: secretAccessKey,
    SANDBOX_URL: `http://127.0.0.1:${port}`,
    LOG_LEVEL: 'warn',
    PORT: String(port),
  })
  const processes = await Promise.all([startWaiting('api', app.environment), startWaiting('worker', app.environment)])
  const [api, worker] = processes
  let s3: Awaited<ReturnType<typeof startVersitygw>> | null = null
  const untilSays = (process: typeof api, checks: Record<string, string>, answer: object) =>
    until(
      `${process === api ? 'the api' : 'the worker'} says ${JSON.stringify(checks)}`,
      async () => {
        const { checks: found, ...said } = (await process.ask('/readyz')) ?? {}
        return JSON.stringify([said, found]) === JSON.stringify([answer, checks])
      },
      NOTICED_WITHIN_MS,
    )
  try {
    const away = { database: 'away', storage: 'away', temporal: 'away' }
    for (const end = performance.now() + ABSENT_MS; performance.now() < end; await sleep(LOOK_EVERY_MS)) {
      for (const each of processes) expect(await each.ask('/healthz')).toEqual({ code: 200, status: 'ok' })
      expect(await api.ask('/readyz')).toEqual({ ...STARTING, checks: away })
      expect(await worker.ask('/readyz')).toEqual({ ...STARTING, checks: { ...away, worker: 'away' } })
      await expect(fetch(`${app.url}/readyz`)).rejects.toThrow('fetch failed')
    }
    for (const { logs } of processes) expect(logs.filter((line) => line.includes('start.waiting'))).not.toEqual([])

    await own.startAgain()
    const database = { ...away, database: 'ok' }
    await untilSays(api, database, READY)
    await untilSays(worker, { ...database, worker: 'away' }, STARTING)
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200)
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    const early = await tenant.post('before Temporal', [connection])

    await temporal.start()
    expect(await worker.ask('/readyz')).toMatchObject({ ...STARTING, checks: { temporal: 'away' } })
    expect(await ops(['temporal-setup'], app.environment)).toMatchObject({ code: 0 })
    const running = { ...database, temporal: 'ok' }
    await untilSays(worker, { ...running, worker: 'ok' }, READY)
    await untilSays(api, running, READY)
    expect((await tenant.settled(early.id)).status).toBe('published')
    const image = await anImage()
    expect((await tenant.upload(image)).status).toBe(503)

    s3 = await startVersitygw({ binary, folder, port: s3Port, secretAccessKey })
    expect(await api.ask('/readyz')).toMatchObject({ ...READY, checks: { storage: 'away' } })
    expect(await ops(['storage-setup'], { ...app.environment, NODE_NO_WARNINGS: '1' })).toMatchObject({ code: 0 })
    const all = { ...running, storage: 'ok' }
    await untilSays(api, all, READY)
    await untilSays(worker, { ...all, worker: 'ok' }, READY)
    const asset = (await tenant.upload<Media>(image)).body.data
    const post = await tenant.post('x', [connection], {
      content: { text: 'with a picture', media: [{ id: asset.id }] },
    })
    expect((await tenant.settled(post.id)).status).toBe('published')
    expect(await app.timesAccepted('with a picture')).toBe(1)

    expect(processes.map(({ lives }) => lives())).toEqual([true, true])
    for (const each of processes) each.process.kill('SIGTERM')
    await until('both have ended', () => processes.every(({ lives }) => !lives()))
    expect(processes.map(({ process }) => process.exitCode)).toEqual([0, 0])
  } finally {
    await Promise.all(processes.map((each) => each.stop()))
    await app.stop()
    await Promise.all([own.remove(), temporal.remove(), s3?.stop()])
    await rm(folder, { recursive: true })
  }
}, 500_000)
