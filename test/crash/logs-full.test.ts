import { readlinkSync } from 'node:fs'
import { startApp, type App, type Tenant } from '../support/app.js'
import { makeFifo } from '../support/fifo.js'
import { until } from '../support/until.js'
import type { NodeProcess } from '../../tools/stack/node-process.js'

const PRELOAD = new URL('../support/stdout-to.mjs', import.meta.url).href
/** How long the api says that it is draining. */
const DRAIN_MS = 1_500

const writingTo = (path: string) => ({
  LOG_LEVEL: 'debug',
  DRAIN_MS: String(DRAIN_MS),
  NODE_OPTIONS: `--import ${PRELOAD}`,
  STDOUT_TO: path,
})

let app: App
beforeEach(async () => {
  app = await startApp({ api: false, worker: false })
})
afterEach(() => app.stop())

const start = (env: NodeJS.ProcessEnv) => Promise.all([app.startApi(env), app.startWorker(env)])

const readiness = async ({ facts }: NodeProcess): Promise<{ code: number; status: string }> => {
  const response = await fetch(`http://127.0.0.1:${String(facts['metricsPort'])}/readyz`)
  return { code: response.status, ...((await response.json()) as { status: string }) }
}

/** As the metrics tell it, which need no disk. */
const droppedOf = async ({ facts }: NodeProcess): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${String(facts['metricsPort'])}/metrics`)).text()
  return Number(/^relay_log_lines_dropped_total (\d+)$/m.exec(text)?.[1])
}

/** Everything still works: posts are taken and go out once, a limit is waited for, and both are ready. */
async function expectService(tenant: Tenant, connection: string, round: string): Promise<void> {
  const texts = Array.from(
    { length: 20 },
    (_, at) => `${round} ${at}${at % 5 === 0 ? ' [sandbox:rate_limited*1]' : ''}`,
  )
  const posts = await Promise.all(texts.map((text) => tenant.post(text, [connection])))
  for (const { id } of posts) expect((await tenant.settled(id)).status).toBe('published')
  expect(await Promise.all(texts.map((text) => app.timesAccepted(text)))).toEqual(texts.map(() => 1))
  for (const child of [app.api!, app.worker!])
    await until('it is ready', async () => (await readiness(child)).code === 200)
}

async function expectOrderlyEnd(): Promise<void> {
  const [api, worker] = [app.api!, app.worker!]
  for (const child of [api, worker]) child.process.kill('SIGTERM')
  await until('the api says that it drains', async () => (await readiness(api)).status === 'draining')
  await until('both have ended', () => [api, worker].every(({ process }) => process.exitCode !== null))
  expect([api.process.exitCode, worker.process.exitCode]).toEqual([0, 0])
}

test('the disk that logs go to is full from the start: everything is served, and both end in good order', async () => {
  await start(writingTo('/dev/full'))
  for (const { pid } of [app.api!, app.worker!]) expect(readlinkSync(`/proc/${pid}/fd/1`)).toBe('/dev/full')
  const tenant = await app.tenant()
  await expectService(tenant, await tenant.connect(), 'full')
  for (const child of [app.api!, app.worker!]) expect(await droppedOf(child)).toBeGreaterThan(0)
  await expectOrderlyEnd()
})

test('whoever reads the logs goes away and comes back: everything is served, and how many lines are missing is told', async () => {
  const fifo = await makeFifo()
  fifo.openReader()
  let read = ''
  const reading = setInterval(() => void (read += fifo.read()), 20)
  try {
    await start(writingTo(fifo.path))
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    await until('something was logged', () => read.includes('\n'))
    fifo.closeReader()
    await expectService(tenant, connection, 'unread')
    fifo.openReader()
    read = ''
    await expectService(tenant, connection, 'read again')
    // The worker writes a line for every attempt, the api hardly any.
    const told = await until('the worker has told', () =>
      read
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { name: string; msg: string; lines: number; code: string })
        .find(({ name, msg }) => name === 'worker' && msg === 'log.lines_dropped'),
    )
    expect(told.lines).toBeGreaterThan(0)
    expect(told.code).toBe('EPIPE')
    await expectOrderlyEnd()
  } finally {
    clearInterval(reading)
    await fifo.remove()
  }
})
