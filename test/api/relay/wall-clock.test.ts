import type { AcceptedPost, Post } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'

let app: App
let tenant: Tenant
let connection: string

beforeAll(async () => {
  app = await startApp({ worker: false })
  tenant = await app.tenant()
  connection = await tenant.connect()
})
afterAll(() => app.stop())

const YEAR = new Date().getUTCFullYear() + 1

const send = (body: object) =>
  tenant.call<AcceptedPost>('POST', '/v1/posts', {
    content: { text: 'clock' },
    connection_ids: [connection],
    allow_duplicate: true,
    ...body,
  })
const times = ({ scheduled_at, timezone, local_time }: Post) => ({ scheduled_at, timezone, local_time })

/** The last Sunday of a month, when clocks change in the European Union. */
function lastSunday(month: number): string {
  const last = new Date(Date.UTC(YEAR, month, 0))
  last.setUTCDate(last.getUTCDate() - last.getUTCDay())
  return last.toISOString().slice(0, 10)
}

test('a wall clock is read in the zone that is named, else in the organisation’s', async () => {
  const named = await send({ scheduled_at: `${YEAR}-07-01T09:00`, timezone: 'Europe/Berlin' })
  expect([times(named.body.data), named.body.data.schedule_notice]).toEqual([
    { scheduled_at: `${YEAR}-07-01T07:00:00.000Z`, timezone: 'Europe/Berlin', local_time: `${YEAR}-07-01T09:00:00` },
    null,
  ])
  await app.sql`update organisations set timezone = 'Asia/Kolkata' where id = ${tenant.organisationId}`
  const own = await send({ scheduled_at: `${YEAR}-07-01T09:00:00` })
  expect(times(own.body.data)).toMatchObject({ scheduled_at: `${YEAR}-07-01T03:30:00.000Z`, timezone: 'Asia/Kolkata' })
  await app.sql`update organisations set timezone = 'UTC' where id = ${tenant.organisationId}`
})

test('the offset of an instant overrides the zone, which it is then shown in', async () => {
  const { body } = await send({ scheduled_at: `${YEAR}-07-01T09:00:00-05:00`, timezone: 'Europe/Berlin' })
  expect(times(body.data)).toEqual({
    scheduled_at: `${YEAR}-07-01T14:00:00.000Z`,
    timezone: 'Europe/Berlin',
    local_time: `${YEAR}-07-01T16:00:00`,
  })
})

test('a time that a change of clocks skips moves forward by the gap, one that happens twice is the earlier; both say so', async () => {
  const gap = await send({ scheduled_at: `${lastSunday(3)}T02:30`, timezone: 'Europe/Berlin' })
  expect(gap.body.data).toMatchObject({
    scheduled_at: `${lastSunday(3)}T01:30:00.000Z`,
    local_time: `${lastSunday(3)}T03:30:00`,
    schedule_notice: { kind: 'gap', requested: `${lastSunday(3)}T02:30:00`, timezone: 'Europe/Berlin' },
  })
  const overlap = await send({ scheduled_at: `${lastSunday(10)}T02:30`, timezone: 'Europe/Berlin' })
  expect(overlap.body.data).toMatchObject({
    scheduled_at: `${lastSunday(10)}T00:30:00.000Z`,
    schedule_notice: { kind: 'overlap', message: expect.stringContaining('twice') },
  })
})

test('/schedule reads them alike, and a draft keeps its time as a proposal', async () => {
  const draft = await send({ scheduled_at: `${YEAR}-07-01T09:00`, timezone: 'Europe/Berlin', draft: true })
  expect([draft.body.data.status, draft.body.data.scheduled_at, draft.body.data.deliveries[0]!.due_at]).toEqual([
    'draft',
    `${YEAR}-07-01T07:00:00.000Z`,
    null,
  ])
  const { body } = await tenant.call<AcceptedPost>('POST', `/v1/posts/${draft.body.data.id}/schedule`, {
    scheduled_at: `${lastSunday(3)}T02:30`,
    timezone: 'Europe/Berlin',
  })
  expect([body.data.status, body.data.deliveries[0]!.due_at, body.data.schedule_notice]).toMatchObject([
    'scheduled',
    `${lastSunday(3)}T01:30:00.000Z`,
    { kind: 'gap' },
  ])
})

test('up to a minute past is now, in whatever form', async () => {
  const { body } = await send({ scheduled_at: new Date(Date.now() - 30_000).toISOString() })
  expect([body.data.status, body.data.scheduled_at]).toEqual(['queued', null])
  const local = new Date(Date.now() - 30_000).toISOString().slice(0, 19)
  expect((await send({ scheduled_at: local, timezone: 'UTC' })).body.data.status).toBe('queued')
})

test.each([
  ['an hour past', { scheduled_at: new Date(Date.now() - 3_600_000).toISOString() }, 'scheduled_at'],
  ['three years ahead', { scheduled_at: `${YEAR + 2}-12-31T00:00:00Z` }, 'scheduled_at'],
  ['an unknown zone', { scheduled_at: `${YEAR}-01-01T00:00`, timezone: 'Europe/Atlantis' }, 'timezone'],
  ['a zone in other letters', { scheduled_at: `${YEAR}-01-01T00:00`, timezone: 'europe/berlin' }, 'timezone'],
  ['hour 24', { scheduled_at: `${YEAR}-01-01T24:00` }, 'scheduled_at'],
])('%s is refused by name, by POST and by /schedule', async (_what, body, path) => {
  const draft = await send({ draft: true })
  for (const answer of [await send(body), await tenant.call('POST', `/v1/posts/${draft.body.data.id}/schedule`, body)])
    expect([answer.status, answer.body.error.details['fields']]).toMatchObject([422, [{ path }]])
})
