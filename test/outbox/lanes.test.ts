import { createOrganisation } from '../../src/accounts/repository.js'
import { dropLines, enqueueLanes, takeLines } from '../../src/outbox/outbox.js'
import { createTestDatabase, type TestDatabase } from '../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const waiting = async () =>
  (await database.sql<{ workflow_id: string }[]>`select workflow_id from outbox order by id`).map(
    (row) => row.workflow_id,
  )
const take = () => takeLines(database.sql, { limit: 50, leaseMs: 60_000 })

test('any number of lines that wake a lane are one when it is taken; what comes afterwards is another wake', async () => {
  const { sql } = database
  const organisationId = await createOrganisation(sql, { name: 'Test' })
  for (const id of ['whk_a', 'whk_b'])
    await sql`insert into webhook_endpoints (id, organisation_id, url, events, secret_last4) values (${id}, ${organisationId}, 'x', '{*}', 'x')`
  for (let count = 0; count < 5; count++) await enqueueLanes(sql, ['whk_a'])
  await enqueueLanes(sql, ['whk_b'])

  const taken = await take()
  expect(taken.map(({ command, args }) => [command, args]).sort()).toEqual(
    ['whk_a', 'whk_b'].map((endpointId) => ['wake_webhooks', { endpointId, organisationId }]),
  )
  expect((await waiting()).sort()).toEqual(['webhook/whk_a', 'webhook/whk_b'])
  await enqueueLanes(sql, ['whk_a'])
  // Under way: the one that came meanwhile waits for its turn.
  expect(await take()).toEqual([])
  await dropLines(
    sql,
    taken.map(({ id }) => id),
  )
  expect((await take()).map(({ workflow_id }) => workflow_id)).toEqual(['webhook/whk_a'])
})
