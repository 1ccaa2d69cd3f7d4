import { startApp, type App } from '../support/app.js'
import { until } from '../support/until.js'

const HOUR_MS = 3_600_000
const isOff = ({ logs }: App, name: string, byMs: number) =>
  logs
    .map((line) => JSON.parse(line) as { name: string; time: number })
    .some((line) => line.name === name && Math.abs(line.time - Date.now() - byMs) < 60_000)
const off = (ms: number) => ({
  CLOCK_SHIFT_MS: String(ms),
  NODE_OPTIONS: `--import ${new URL('../support/shifted-clock.mjs', import.meta.url).href}`,
})

test.concurrent.each([
  ['the api an hour ahead', HOUR_MS, 0],
  ['the api an hour behind', -HOUR_MS, 0],
  ['the worker an hour ahead', 0, HOUR_MS],
  ['the worker an hour behind', 0, -HOUR_MS],
  ['the api ahead, the worker behind', HOUR_MS, -HOUR_MS],
])(
  'with the clock of %s, everything goes out when the database says so, and only then',
  async (_what, apiMs, workerMs) => {
    const app = await startApp({ api: false, worker: false, env: { LOG_LEVEL: 'info' } })
    try {
      await Promise.all([app.startApi(off(apiMs)), app.startWorker(off(workerMs))])
      await until('both tell the time they have', () => isOff(app, 'api', apiMs) && isOff(app, 'worker', workerMs))
      const tenant = await app.tenant(undefined, { limits: { requests_per_minute: 5_000 } })
      const connection = await tenant.connect()

      const now = await tenant.post('now', [connection])
      const due = new Date(Date.now() + 3_000)
      const soon = await tenant.post('soon', [connection], { scheduled_at: due.toISOString() })
      const waits = await tenant.post('patience [sandbox:rate_limited*1]', [connection])
      const cancelled = await tenant.post('never', [connection], { scheduled_at: due.toISOString() })
      expect([now.status, soon.status]).toEqual(['queued', 'scheduled'])
      await tenant.call('DELETE', `/v1/posts/${cancelled.id}`)
      for (const { id } of [now, soon, waits]) expect((await tenant.settled(id)).status).toBe('published')

      const [row] = await app.sql<[{ early: boolean; late: boolean }]>`
        select received_at < ${due} as early, received_at > ${due}::timestamptz + interval '20 s' as late
          from sandbox_requests where text = 'soon'`
      expect(row).toEqual({ early: false, late: false })
      expect(await app.timesAccepted('never')).toBe(0)
    } finally {
      await app.stop()
    }
  },
  120_000,
)
