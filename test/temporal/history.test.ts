import { execFile } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startApp, type App, type Tenant } from '../support/app.js'
import { connectTemporal, showHistory, type HistoryEvent } from '../support/temporal.js'
import { until } from '../support/until.js'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const run = promisify(execFile)

let app: App
let temporal: Awaited<ReturnType<typeof connectTemporal>>
let tenant: Tenant
let connection: string

beforeAll(async () => {
  ;[app, temporal] = await Promise.all([
    // A retry that a busy machine makes late is not poked: the poke would be in its history.
    startApp({ env: { SWEEP_OVERDUE_MS: '60000' } }),
    connectTemporal(),
  ])
  tenant = await app.tenant()
  connection = await tenant.connect('shop')
})
afterAll(() => Promise.all([app.stop(), temporal.close()]))

async function deliver(text: string) {
  const post = await tenant.settled((await tenant.post(text, [connection])).id)
  const delivery = post.deliveries[0]!
  const handle = temporal.client.workflow.getHandle(`delivery/${delivery.id}/1`)
  await handle.result()
  return { post, delivery, handle, history: await showHistory(handle.workflowId) }
}

const EVENTS = [
  'WORKFLOW_EXECUTION_STARTED',
  'WORKFLOW_TASK_SCHEDULED',
  'WORKFLOW_TASK_STARTED',
  'WORKFLOW_TASK_COMPLETED',
  'ACTIVITY_TASK_SCHEDULED',
  'ACTIVITY_TASK_STARTED',
  'ACTIVITY_TASK_COMPLETED',
  'WORKFLOW_TASK_SCHEDULED',
  'WORKFLOW_TASK_STARTED',
  'WORKFLOW_TASK_COMPLETED',
  'WORKFLOW_EXECUTION_COMPLETED',
]

test('an immediate success costs eleven events, and a retry none more', async () => {
  const names = (events: HistoryEvent[]) => events.map(({ eventType }) => eventType.replace('EVENT_TYPE_', ''))
  const success = (await deliver('short')).history
  const retried = (await deliver('retried [sandbox:rate_limited*1]')).history
  expect(names(success.events)).toEqual(EVENTS)
  expect(names(retried.events)).toEqual(EVENTS)
  if (process.env.RECORD_HISTORIES) await writeFile(here('../histories/deliver-post.immediate.json'), success.json)
})

test('history carries ids only: neither text nor credentials', async () => {
  const { history } = await deliver('a very secret launch')
  const decoded = JSON.stringify(history.events, (_key, value: unknown) =>
    typeof value === 'string' && /^[A-Za-z0-9+/]+=*$/.test(value)
      ? `${value} ${Buffer.from(value, 'base64').toString()}`
      : value,
  )
  const [{ credentials }] = await app.sql<
    [{ credentials: string }]
  >`select credentials from connections where id = ${connection}`
  expect(decoded).toContain('deliveryId')
  expect(decoded).not.toContain('secret launch')
  expect(decoded).not.toContain(credentials)
})

test('an operator sees the summary, the search attributes, the current details and the summary of the activity', async () => {
  const { post, delivery, handle, history } = await deliver('visible')
  const description = await handle.describe()
  expect(await description.staticSummary()).toBe(`sandbox · shop · due ${delivery.due_at}`)
  expect(
    description.typedSearchAttributes
      .getAll()
      .filter(({ key }) => key.name !== 'BuildIds') // the server's own
      .map(({ key, value }) => [key.name, value])
      .sort(),
  ).toEqual([
    ['ConnectionId', connection],
    ['OrganisationId', tenant.organisationId],
    ['Platform', 'sandbox'],
    ['PostId', post.id],
  ])
  const scheduled = history.events.find(({ eventType }) => eventType === 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED')
  expect(Buffer.from(scheduled?.userMetadata?.summary?.data ?? '', 'base64').toString()).toContain(delivery.id)
  const metadata = await handle.query<{ currentDetails: string }, []>('__temporal_workflow_metadata')
  expect(metadata.currentDetails).toContain('Settled')
})

test('a run can be found by what it is about', async () => {
  const { post } = await deliver('findable')
  const found = await until('it is visible', async () => {
    const runs = []
    for await (const each of temporal.client.workflow.list({ query: `PostId = '${post.id}'` }))
      runs.push(each.workflowId)
    return runs.length > 0 && runs
  })
  expect(found).toEqual([`delivery/${post.deliveries[0]!.id}/1`])
})

test('a run that waits says until when', async () => {
  const { id, deliveries } = await tenant.post('waits', [connection], {
    scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
  const handle = temporal.client.workflow.getHandle(`delivery/${deliveries[0]!.id}/1`)
  await until('the run was started', () => handle.describe().catch(() => null))
  // As an operator who pokes it would see: the delay ends and the run waits by itself.
  await app.sql`
    insert into outbox (command, workflow_id, args)
    select 'poke_delivery', 'delivery/' || id || '/1', jsonb_build_object('deliveryId', id, 'generation', 1, 'organisationId', organisation_id,
      'postId', post_id, 'connectionId', connection_id, 'platform', platform, 'handle', handle, 'dueAt', due_at)
      from deliveries where id = ${deliveries[0]!.id}`
  const details = await until('it says so', async () => {
    const metadata = await handle
      .query<{ currentDetails?: string }, []>('__temporal_workflow_metadata')
      .catch(() => null)
    return metadata?.currentDetails?.includes('Waiting until') && metadata.currentDetails
  })
  expect(details).toMatch(/Waiting until \d{4}-\d{2}-\d{2}T/)
  expect((await tenant.call<{ status: string }>('DELETE', `/v1/posts/${id}`)).body.data.status).toBe('cancelled')
  await expect(handle.result()).rejects.toThrow(/cancelled/i)
})

describe('recorded histories', () => {
  const replay = async (workflows: string) => {
    const files = (await readdir(here('../histories')))
      .filter((name) => name.endsWith('.json'))
      .map((name) => join(here('../histories'), name))
    expect(files.length).toBeGreaterThan(0)
    return run(process.execPath, ['--import', 'tsx', here('../support/replay-histories.ts'), here(workflows), ...files])
  }

  test('are replayed by the workflows as they are now', async () => {
    const { stdout } = await replay('../../workflows/index.ts')
    expect(stdout).toContain('deliver-post.immediate.json')
  })

  test('are not replayed by workflows that were changed without `patched`', async () => {
    await expect(replay('./changed-workflow.ts')).rejects.toMatchObject({
      stderr: expect.stringContaining('DeterminismViolation'),
    })
  })
})
