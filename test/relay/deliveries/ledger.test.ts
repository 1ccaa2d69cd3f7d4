import { newId } from '../../../src/ids.js'
import { createOrganisation } from '../../../src/accounts/repository.js'
import { cancelPending } from '../../../src/relay/deliveries/repository.js'
import { claimDelivery, markSent, readRun, recordOutcome } from '../../../src/relay/deliveries/ledger.js'
import { pokeOverdue, rearmDelivery } from '../../../src/relay/deliveries/rearm.js'
import { insertPost } from '../../../src/relay/posts/repository.js'
import { createTestDatabase, type TestDatabase } from '../../support/database.js'
import { countWaiting } from '../../support/lock-holder.js'
import { until } from '../../support/until.js'

let database: TestDatabase
let organisationId: string

beforeAll(async () => {
  database = await createTestDatabase()
  organisationId = await createOrganisation(database.sql, { name: 'Test' })
})
afterAll(() => database.drop())

const sql = () => database.sql
const part = (clientKey: string, number = 0) => ({ number, clientKey })
const published = { remoteId: '1', remoteUrl: 'http://x/1' }
const succeeded = { kind: 'taken', part: 0, published, more: false } as const
const accepted = { state: 'accepted', code: null, httpStatus: null, platformMessage: null, lookUp: null } as const

async function aDelivery({ dueIn = '-1 hour' } = {}) {
  const [postId, deliveryId] = [newId('post'), newId('dlv')]
  const by = { organisationId, kind: 'key', id: 'key_1', name: 'test' } as const
  const post = { id: postId, content: { text: 'x' }, overrides: {}, validation: 'lenient', draft: false } as const
  const delivery = { id: deliveryId, connectionId: newId('conn'), platform: 'sandbox', handle: 'x', overrides: null }
  await insertPost(sql(), by, { ...post, scheduledAt: null, timezone: null, warnings: [] }, [
    { ...delivery, warnings: [], contentHash: Buffer.alloc(32), refusal: null },
  ])
  await sql()`update deliveries set due_at = now() + ${dueIn}::interval where id = ${deliveryId}`
  return { postId, run: { deliveryId, generation: 1 } }
}

const statusOf = async (id: string) =>
  (await sql()<{ status: string }[]>`select status from deliveries where id = ${id}`)[0]?.status
const outbox = (id: string) => sql()<{ command: string; workflow_id: string }[]>`
  select command, workflow_id from outbox where args ->> 'deliveryId' = ${id} order by id`

test('only one of two workers takes a pending delivery', async () => {
  const { run } = await aDelivery()
  const claims = await Promise.all([claimDelivery(sql(), run, part('a')), claimDelivery(sql(), run, part('b'))])
  expect(claims.filter(Boolean)).toHaveLength(1)
})

test('the client key of the first claim is kept in every later one', async () => {
  const { run } = await aDelivery()
  const first = await claimDelivery(sql(), run, part('first'))
  await recordOutcome(
    sql(),
    { deliveryId: run.deliveryId, number: 1 },
    { ...accepted, state: 'not_sent' },
    { kind: 'waiting', inMs: 0, code: null, reason: null },
  )
  const second = await claimDelivery(sql(), run, part('second'))
  expect([first?.clientKey, second?.clientKey, second?.attempt]).toEqual(['first', 'first', 2])
})

test('a piece that was taken meanwhile is not claimed again, also by a claim that waited for the row', async () => {
  const { run } = await aDelivery()
  let late: Promise<unknown> | undefined
  await sql().begin(async (tx) => {
    await tx`select from deliveries where id = ${run.deliveryId} for update`
    late = claimDelivery(sql(), run, part('k'))
    await until('the late claim waits', async () => (await countWaiting(sql(), { text: 'update deliveries' })) > 0)
    await tx`update deliveries set parts_taken = 1 where id = ${run.deliveryId}`
  })
  expect(await late).toBeNull()
  expect(await statusOf(run.deliveryId)).toBe('pending')
})

test('a delivery that is not due, or of another generation, is not taken', async () => {
  const later = await aDelivery({ dueIn: '1 minute' })
  expect(await claimDelivery(sql(), later.run, part('k'))).toBeNull()
  const { run } = await aDelivery()
  expect(await claimDelivery(sql(), { ...run, generation: 2 }, part('k'))).toBeNull()
  expect(await readRun(sql(), { ...run, generation: 2 })).toBeNull()
})

test('a cancel and a claim at once: one of them wins, never both', async () => {
  for (let round = 0; round < 20; round++) {
    const { postId, run } = await aDelivery()
    const [claim, cancelled] = await Promise.all([
      claimDelivery(sql(), run, part('k')),
      cancelPending(sql(), organisationId, { postId }),
    ])
    expect(Number(claim !== null) + cancelled.length).toBe(1)
    expect(await statusOf(run.deliveryId)).toBe(claim ? 'processing' : 'cancelled')
  }
})

test('an attempt is marked as sent once, and not after its run was overtaken', async () => {
  const { run } = await aDelivery()
  await claimDelivery(sql(), run, part('k'))
  expect(await markSent(sql(), run, 1)).toBe(true)
  expect(await markSent(sql(), run, 1)).toBe(false)

  const overtaken = await aDelivery()
  await claimDelivery(sql(), overtaken.run, part('k'))
  await rearmDelivery(sql(), overtaken.run)
  expect(await markSent(sql(), overtaken.run, 1)).toBe(false)
})

test('the first word about an attempt stands', async () => {
  const { run } = await aDelivery()
  await claimDelivery(sql(), run, part('k'))
  const attempt = { deliveryId: run.deliveryId, number: 1 }
  expect(await recordOutcome(sql(), attempt, accepted, succeeded)).toBe(true)
  const late = {
    kind: 'settled',
    status: 'failed',
    code: 'platform_error',
    message: 'late',
    flag: null,
    connection: { id: 'conn_1', credentials: null },
  } as const
  expect(await recordOutcome(sql(), attempt, { ...accepted, state: 'refused' }, late)).toBe(false)
  expect(await statusOf(run.deliveryId)).toBe('succeeded')
})

test('two deliveries of a post that settle at the same moment still settle the post', async () => {
  for (let round = 0; round < 10; round++) {
    const { postId, run } = await aDelivery()
    const other = newId('dlv')
    await sql()`
      insert into deliveries (id, organisation_id, post_id, connection_id, platform, handle, due_at)
      values (${other}, ${organisationId}, ${postId}, 'conn_other', 'sandbox', 'y', now())`
    const runs = [run, { deliveryId: other, generation: 1 }]
    await Promise.all(runs.map((each) => claimDelivery(sql(), each, part('k'))))
    await Promise.all(
      runs.map(({ deliveryId }) => recordOutcome(sql(), { deliveryId, number: 1 }, accepted, succeeded)),
    )
    const [post] = await sql()<{ status: string }[]>`select status from posts where id = ${postId}`
    expect(post?.status).toBe('published')
  }
})

test('re-arming gives a new generation once, with its start in the same transaction, and leaves what is settled alone', async () => {
  const { run } = await aDelivery()
  await Promise.all([rearmDelivery(sql(), run), rearmDelivery(sql(), run)])
  expect(await outbox(run.deliveryId)).toEqual([
    { command: 'start_delivery', workflow_id: `delivery/${run.deliveryId}/2` },
  ])

  const settled = await aDelivery()
  await claimDelivery(sql(), settled.run, part('k'))
  await recordOutcome(sql(), { deliveryId: settled.run.deliveryId, number: 1 }, accepted, succeeded)
  await rearmDelivery(sql(), settled.run)
  expect(await outbox(settled.run.deliveryId)).toEqual([])
})

test('the sweep pokes what is overdue, once, and leaves alone what has an open line or is waiting', async () => {
  const overdue = await aDelivery()
  const waiting = await aDelivery()
  await sql()`update deliveries set next_attempt_at = now() + interval '1 hour' where id = ${waiting.run.deliveryId}`
  const queued = await aDelivery()
  await rearmDelivery(sql(), queued.run)

  await pokeOverdue(sql(), { overdueMs: 1_000 })
  await pokeOverdue(sql(), { overdueMs: 1_000 })
  expect(await outbox(overdue.run.deliveryId)).toMatchObject([{ command: 'poke_delivery' }])
  expect(await outbox(waiting.run.deliveryId)).toEqual([])
  expect(await outbox(queued.run.deliveryId)).toMatchObject([{ command: 'start_delivery' }])
})
