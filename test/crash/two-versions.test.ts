import { wakePaused } from '../../src/relay/deliveries/wake-paused.js'
import { pausePlatform, resumePlatform } from '../../src/relay/platforms/pauses.js'
import { startApp, type App, type Tenant } from '../support/app.js'
import { bundleNextRelease, findPatchedRuns, readRun } from '../support/release-runs.js'
import { connectTemporal } from '../support/temporal.js'
import { until } from '../support/until.js'
import type { NodeProcess } from '../../tools/stack/node-process.js'

/** Enough for a busy machine; a run that fails is tried again after a growing pause. */
const WITHIN_MS = 150_000
/** To wait for a worker that has what it began still to end. */
const STOP_MS = 60_000

let next: Awaited<ReturnType<typeof bundleNextRelease>>
let temporal: Awaited<ReturnType<typeof connectTemporal>>
let app: App
let tenant: Tenant
let connection: string

beforeAll(async () => {
  ;[next, temporal] = await Promise.all([bundleNextRelease(), connectTemporal()])
})
afterAll(() => Promise.all([temporal.close(), next.remove()]))
beforeEach(async () => {
  app = await startApp({ worker: false, env: { RETRY_FIRST_MS: '1000', SWEEP_OVERDUE_MS: '3000' } })
  tenant = await app.tenant()
  connection = await tenant.connect()
})
afterEach(() => app.stop())

const startOld = () => app.startWorker()
const startNext = () => app.startWorker({ WORKFLOW_BUNDLE: next.path })

interface Sent {
  text: string
  postId: string
  deliveryId: string
}

const send = (count: number, what: string, more: Record<string, unknown> = {}): Promise<Sent[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const text = `${what} ${at}`
      const { id, deliveries } = await tenant.post(text, [connection], more)
      return { text, postId: id, deliveryId: deliveries[0]!.id }
    }),
  )
const inSeconds = (seconds: number) => ({ scheduled_at: new Date(Date.now() + seconds * 1_000).toISOString() })
const idsOf = (sent: Sent[]) => sent.map(({ deliveryId }) => deliveryId)
const readRuns = (sent: Sent[]) => Promise.all(idsOf(sent).map((id) => readRun(temporal.client, id)))
const timesAccepted = (sent: Sent[]) => Promise.all(sent.map(({ text }) => app.timesAccepted(text)))

async function expectPublishedOnce(sent: Sent[]): Promise<void> {
  for (const { postId } of sent) expect((await tenant.settled(postId, WITHIN_MS)).status).toBe('published')
  expect(await timesAccepted(sent)).toEqual(sent.map(() => 1))
}

/** Runs begin on one worker, some with a retry ahead, some held by a pause, some not due yet; then another has to end them all. */
async function handOver(startOne: () => Promise<NodeProcess>, startOther: () => Promise<NodeProcess>) {
  const one = await startOne()
  const retried = await send(6, 'retried [sandbox:rate_limited*2]')
  await until(
    'all were refused',
    async () =>
      (await app.sql`select distinct delivery_id from attempts where state = 'refused'`).length === retried.length,
  )
  await app.sql.begin((tx) => pausePlatform(tx, { platform: 'sandbox', reason: 'a release' }))
  const [held, later] = await Promise.all([send(12, 'held'), send(6, 'later', inSeconds(8))])
  await until(
    'all wait for the pause',
    async () =>
      (
        await app.sql`select 1 from deliveries where id in ${app.sql(idsOf(held))} and waiting_for ->> 'code' = 'publishing_paused'`
      ).length === held.length,
  )
  const other = await startOther()
  await one.stop(STOP_MS)
  await app.sql.begin((tx) => resumePlatform(tx, 'sandbox'))
  await wakePaused(app.sql, 'sandbox')
  return { one, other, retried, held, later }
}

test('two versions take runs from one queue: everything goes out once, and both take some', async () => {
  await Promise.all([startOld(), startNext()])
  const sent = (
    await Promise.all([send(20, 'now'), send(20, 'again [sandbox:rate_limited*1]'), send(20, 'soon', inSeconds(3))])
  ).flat()
  await expectPublishedOnce(sent)
  const patched = (await readRuns(sent)).filter((run) => run.patched).length
  expect(patched).toBeGreaterThan(0)
  expect(patched).toBeLessThan(sent.length)
})

test('a release: the next one replays what the old one began and takes it on from there', async () => {
  const { one, other, retried, held, later } = await handOver(startOld, startNext)
  await expectPublishedOnce([...retried, ...held, ...later])
  const runs = await readRuns(held)
  expect(runs).toEqual(held.map(() => ({ patched: true, workers: [one.pid, other.pid], notReplayed: 0 })))
  for (const run of await readRuns([...retried, ...later])) expect(run.notReplayed).toBe(0)
})

test('a release taken back: the old one cannot go on with what the next one began, loses nothing of it, and sends none of it twice', async () => {
  const { other: old, retried, held, later } = await handOver(startNext, startOld)
  await until('the old one has tried all of them', async () =>
    (await readRuns(held)).every(({ notReplayed }) => notReplayed > 0),
  )
  expect(await timesAccepted(held)).toEqual(held.map(() => 0))
  expect((await fetch(`http://127.0.0.1:${String(old.facts['metricsPort'])}/readyz`)).status).toBe(200)

  // An operator ends some, found by the patch they carry: they are begun anew by the old release.
  const ended = held.slice(0, 6)
  const isEnded = (workflowId: string) => idsOf(ended).some((id) => workflowId === `delivery/${id}/1`)
  await until('they are found', async () => {
    const found = await findPatchedRuns(temporal.client, tenant.organisationId)
    return found.filter(isEnded).length === ended.length
  })
  for (const id of idsOf(ended)) await temporal.client.workflow.getHandle(`delivery/${id}/1`).terminate('taken back')
  await expectPublishedOnce(ended)
  const rest = held.slice(6)
  expect(await timesAccepted(rest)).toEqual(rest.map(() => 0))

  // The SDK's native part tells of it too, and through the worker's own log: one JSON object a line.
  const lines = app.logs.map((line) => JSON.parse(line) as { name: string; failure?: string })
  expect(lines.some(({ name, failure = '' }) => name === 'worker' && failure.includes('TMPRL1100'))).toBe(true)

  // The others wait until a worker of the next release is there again, also beside the old one.
  await startNext()
  await expectPublishedOnce([...rest, ...retried, ...later])
}, 480_000)
