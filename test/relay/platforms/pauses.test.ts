import { createOrganisation } from '../../../src/accounts/repository.js'
import { connectDatabase, type Database } from '../../../src/db/client.js'
import { waitAtGate } from '../../../src/relay/deliveries/gates.js'
import { claimDelivery, type RunView } from '../../../src/relay/deliveries/ledger.js'
import type { Publisher } from '../../../src/relay/deliveries/publisher.js'
import { pokeOverdue } from '../../../src/relay/deliveries/rearm.js'
import { wakePaused } from '../../../src/relay/deliveries/wake-paused.js'
import { findPauses, pausePlatform, resumePlatform } from '../../../src/relay/platforms/pauses.js'
import { newId } from '../../../src/ids.js'
import { createTestDatabase, type TestDatabase } from '../../support/database.js'
import { until } from '../../support/until.js'

let database: TestDatabase
let other: Database
let organisationId: string

beforeAll(async () => {
  database = await createTestDatabase()
  other = connectDatabase({ url: database.url, name: 'other', max: 2 })
  organisationId = await createOrganisation(database.sql, { name: 'Test' })
})
afterAll(async () => {
  await other.end()
  await database.drop()
})
afterEach(() => database.sql`delete from paused_platforms`)

const sql = () => database.sql
const pause = (platform = 'sandbox', reason = 'maintenance') =>
  sql().begin((tx) => pausePlatform(tx, { platform, reason }))
const resume = (platform = 'sandbox') => sql().begin((tx) => resumePlatform(tx, platform))

/** Due deliveries of one post, written at once. */
async function deliveries(count: number, platform = 'sandbox'): Promise<string[]> {
  const postId = newId('post')
  await sql()`
    insert into posts (id, organisation_id, status, content, created_by)
    values (${postId}, ${organisationId}, 'queued', '{"text": "x"}', '{}')`
  const rows = Array.from({ length: count }, () => ({ id: newId('dlv'), connection_id: newId('conn') }))
  const more = { organisation_id: organisationId, post_id: postId, platform, handle: 'x', due_at: new Date(0) }
  await sql()`insert into deliveries ${sql()(rows.map((row) => ({ ...row, ...more })))}`
  return rows.map(({ id }) => id)
}

const claim = (id: string, by: Database = sql()) =>
  claimDelivery(by, { deliveryId: id, generation: 1 }, { number: 0, clientKey: 'key' })
const waitsForLock = async () => {
  const [row] = await sql()`select from pg_locks where locktype = 'advisory' and not granted`
  return row !== undefined
}
const linesOf = async (ids: string[]) =>
  (await sql()<{ command: string }[]>`select command from outbox where args ->> 'deliveryId' in ${sql()(ids)}`).map(
    ({ command }) => command,
  )

test('a paused platform is not claimed, another is, and after the pause both are', async () => {
  const [held = ''] = await deliveries(1)
  const [free = ''] = await deliveries(1, 'bluesky')
  await pause()
  expect(await claim(held)).toBeNull()
  expect(await claim(free)).not.toBeNull()
  expect(await resume()).toBe(true)
  expect(await claim(held)).not.toBeNull()
})

test('a claim that began before the pause committed is not made after it', async () => {
  const [id = ''] = await deliveries(1)
  let late: Promise<unknown> | undefined
  await sql().begin(async (tx) => {
    await pausePlatform(tx, { platform: 'sandbox', reason: 'now' })
    late = claim(id, other) // its statement begins while no pause can be seen
    await until('the claim waits', waitsForLock)
  })
  expect(await late).toBeNull()
})

test('a pause commits only after the claims that came first', async () => {
  const [id = ''] = await deliveries(1)
  let paused = false
  let pausing: Promise<unknown> | undefined
  await other.begin(async (tx) => {
    await claimDelivery(tx, { deliveryId: id, generation: 1 }, { number: 0, clientKey: 'key' })
    pausing = pause().then(() => (paused = true))
    await until('the pause waits', waitsForLock)
    expect(paused).toBe(false)
  })
  await pausing
  expect((await findPauses(sql())).has('sandbox')).toBe(true)
})

test('pausing twice keeps since and takes the new reason; resuming what is not paused says so', async () => {
  const first = await pause('sandbox', 'one')
  const second = await pause('sandbox', 'two')
  expect(second).toEqual({ platform: 'sandbox', reason: 'two', since: first.since })
  expect([await resume(), await resume()]).toEqual([true, false])
})

test('nobody begins to wait for a pause that is being lifted, and so nobody is left asleep', async () => {
  const [id = ''] = await deliveries(1)
  const publisher = { database: other, gates: { pauseWaitMs: 1_000 } } as Publisher
  const view = { gates: { paused: 'as it was read', limited_ms: null } } as RunView
  const hold = () => waitAtGate(publisher, { deliveryId: id, generation: 1 }, view)
  const waitingFor = async () =>
    (await sql()<{ waiting_for: object | null }[]>`select waiting_for from deliveries where id = ${id}`)[0]?.waiting_for
  await pause()
  let late: Promise<unknown> | undefined
  await sql().begin(async (tx) => {
    await resumePlatform(tx, 'sandbox')
    late = hold() // its statement begins while the pause can still be seen
    await until('it waits for the gate', waitsForLock)
  })
  expect([await late, await waitingFor()]).toEqual([null, null])

  await pause()
  expect(await hold()).toMatchObject({ kind: 'wait' })
  expect(await waitingFor()).toMatchObject({ code: 'publishing_paused', until: null })
  await resume()
  expect([await wakePaused(sql(), 'sandbox'), await linesOf([id])]).toEqual([1, ['poke_delivery']])
})

test('lifting wakes everything that waits for it, batch by batch, and nothing else', async () => {
  const waiting = await deliveries(1_203)
  const [refused = '', asleep = ''] = await deliveries(2)
  const elsewhere = await deliveries(1, 'bluesky')
  const paused = { code: 'publishing_paused', reason: 'r', until: null }
  await sql()`update deliveries set waiting_for = ${sql().json(paused)} where id in ${sql()([...waiting, ...elsewhere])}`
  // refused so by the platform itself, which says until when
  await sql()`
    update deliveries set waiting_for = ${sql().json({ ...paused, until: new Date().toISOString() })} where id = ${refused}`

  expect(await wakePaused(sql(), 'sandbox')).toBe(1_203)
  expect(await linesOf(waiting)).toEqual(Array.from({ length: 1_203 }, () => 'poke_delivery'))
  expect(await linesOf([refused, asleep, ...elsewhere])).toEqual([])
  const [{ count }] = await sql()<
    [{ count: number }]
  >`select count(*)::int as count from deliveries where id in ${sql()(waiting)} and waiting_for is not null`
  expect(count).toBe(0)
  expect(await wakePaused(sql(), 'sandbox')).toBe(0)
})

test('the sweep leaves what is paused alone, unless an attempt is under way', async () => {
  const [pending = '', claimed = ''] = await deliveries(2)
  await claim(claimed)
  await pause()
  await pokeOverdue(sql(), { overdueMs: 1_000 })
  expect([await linesOf([pending]), await linesOf([claimed])]).toEqual([[], ['poke_delivery']])
  await resume()
  await pokeOverdue(sql(), { overdueMs: 1_000 })
  expect(await linesOf([pending])).toEqual(['poke_delivery'])
})
