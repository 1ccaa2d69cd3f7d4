import { DatabaseProbe } from '../../src/operations/probe.js'
import { createTestDatabase, type TestDatabase } from '../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const connections = async (name: string) =>
  (await database.sql`select 1 from pg_stat_activity where application_name = ${name} and state <> 'active'`).length

test('a server that does not answer is given up in time, and asked anew the next time', async () => {
  const name = 'probe of a frozen server'
  const probe = new DatabaseProbe({ url: database.url, name })
  const begun = performance.now()
  await expect(probe.ask(200, (sql) => sql`select pg_sleep(20)`)).rejects.toThrow('No answer within 200 ms')
  expect(performance.now() - begun).toBeLessThan(5_000)
  await probe.ping()
  expect(await connections(name)).toBe(1)
  await probe.end()
})

test('however many look, one connection is used', async () => {
  const name = 'probe of many'
  const probe = new DatabaseProbe({ url: database.url, name })
  await Promise.all(Array.from({ length: 20 }, () => probe.ask(10_000, (sql) => sql`select 1`)))
  expect(await connections(name)).toBe(1)
  await probe.end()
})
