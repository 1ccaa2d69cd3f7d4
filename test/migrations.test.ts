import { connectDatabase } from '../src/db/client.js'
import { migrate, requireCurrentSchema } from '../src/db/migrate.js'
import { createTestDatabase, type TestDatabase } from './support/database.js'

let database: TestDatabase

beforeEach(async () => {
  database = await createTestDatabase({ empty: true })
})
afterEach(() => database.drop())

test('every migration is applied once, also when two processes start together', async () => {
  const other = connectDatabase({ url: database.url, name: 'other', max: 1 })
  const [one, two] = await Promise.all([migrate(database.sql), migrate(other)])
  await other.end()
  expect([one.length, two.length].sort()).toEqual([0, expect.any(Number)])
  expect(await migrate(database.sql)).toEqual([])
  await expect(requireCurrentSchema(database.sql)).resolves.toBeUndefined()
})

test('a process refuses a database that lacks a migration, and says what to run', async () => {
  await expect(requireCurrentSchema(database.sql)).rejects.toThrow(/lacks migration 0001.*npm run migrate/)
})

test('a database newer than the code is refused with one sentence, by migrate and by the processes', async () => {
  await migrate(database.sql)
  await database.sql`insert into migrations (name) values ('9999_future.sql')`
  await expect(migrate(database.sql)).rejects.toThrow(/newer than this code.*9999_future/)
  await expect(requireCurrentSchema(database.sql)).rejects.toThrow(/newer than this code/)
})
