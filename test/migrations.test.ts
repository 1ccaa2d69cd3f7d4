import { connectDatabase } from '../src/db/client.js'
import { migrate, requireCurrentSchema } from '../src/db/migrate.js'
import { createTestDatabase, type TestDatabase } from './support/database.js'
import { holdLock, untilWaitedFor } from './support/lock-holder.js'
import { migrationFolder } from './support/migration-folder.js'
import { until } from './support/until.js'

/** What a test need not wait for. */
const HURRIED = { lockTimeoutMs: 300, pauseFirstMs: 20, pauseLongestMs: 50 }

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

describe('with migrations of a test', () => {
  let folder: Awaited<ReturnType<typeof migrationFolder>>
  const make = async (...texts: string[]) => {
    folder = await migrationFolder(Object.fromEntries(texts.map((text, at) => [`000${at + 1}_test.sql`, text])))
    return folder.url
  }
  const columnsOf = async (table: string) =>
    (
      await database.sql<{ name: string }[]>`
        select column_name as name from information_schema.columns where table_name = ${table} order by ordinal_position`
    ).map(({ name }) => name)
  afterEach(() => folder.remove())

  test('one that fails leaves nothing of itself and all of those before it, is named, and is begun with the next time', async () => {
    const url = await make('create table a (id int)', 'create table b (id int); alter table missing add column c int')
    await expect(migrate(database.sql, { folder: url })).rejects.toThrow(
      /^Migration 0002_test.sql was not applied: relation "missing" does not exist\. The migrations before it are applied, nothing of it is\.$/,
    )
    expect([await columnsOf('a'), await columnsOf('b')]).toEqual([['id'], []])
    await folder.change('0002_test.sql', 'create table b (id int)')
    expect(await migrate(database.sql, { folder: url })).toEqual(['0002_test.sql'])
  })

  test('one that must wait for a lock gives way again and again, and is applied once the lock is let go', async () => {
    const url = await make('create table a (id int)', 'alter table a add column b int not null default 1')
    await database.sql`create table a (id int)`
    await database.sql`create table migrations (name text primary key)`
    await database.sql`insert into migrations values ('0001_test.sql')`
    const holder = await holdLock(database.url, 'insert into a values (1)')
    const waits: string[] = []
    const migrating = migrate(database.sql, { ...HURRIED, folder: url, onWait: (line) => waits.push(line) })
    await until('it has given way three times', () => waits.length > 2)
    // While it waits, whoever else wants the table waits for one try at the most.
    await database.sql`insert into a values (2)`
    await holder.letGo()
    expect(await migrating).toEqual(['0002_test.sql'])
    expect(await columnsOf('a')).toEqual(['id', 'b'])
    expect(waits.at(-1)).toContain(
      `0002_test.sql waits for process ${holder.pid} (a careless report, idle in transaction`,
    )
  })

  test('one whose lock is not let go ends with who holds it, what is applied and what to do', async () => {
    const url = await make('create table b (id int)', 'alter table a add column b int', 'create table c (id int)')
    await database.sql`create table a (id int)`
    const holder = await holdLock(database.url, 'lock table a')
    // Who waits for the same lock is not to blame.
    const queued = database.sql`select * from a`.execute()
    await untilWaitedFor(database.sql, holder.pid)
    const budgetMs = 3 * HURRIED.lockTimeoutMs
    await expect(migrate(database.sql, { ...HURRIED, budgetMs, folder: url })).rejects.toThrow(
      new RegExp(
        `^Migration 0002_test.sql was not applied: for 0.9 s it waited in vain for a lock held by process ${holder.pid} ` +
          String.raw`\(a careless report, idle in transaction for \d+ s\)\. The migrations before it are applied, nothing of it is\. .*pg_terminate_backend.* run this again`,
      ),
    )
    await holder.letGo()
    await queued
    expect([await columnsOf('a'), await columnsOf('b'), await columnsOf('c')]).toEqual([['id'], ['id'], []])
  })

  test('one that PostgreSQL ends to break a deadlock is tried again', async () => {
    const url = await make(
      `set local deadlock_timeout = '10ms'; alter table a add column x int; select pg_advisory_xact_lock(1); alter table b add column x int`,
    )
    await database.sql.unsafe('create table a (id int); create table b (id int)')
    const gate = await holdLock(database.url, 'select pg_advisory_xact_lock(1)')
    const holder = await holdLock(database.url, `set local deadlock_timeout = '1h'; lock table b`)
    const waits: string[] = []
    const patience = { ...HURRIED, lockTimeoutMs: 60_000, onWait: (line: string) => waits.push(line) }
    const migrating = migrate(database.sql, { ...patience, folder: url })
    await untilWaitedFor(database.sql, gate.pid)
    const crossing = holder.tx`select * from a`.execute()
    await until(
      'both cross',
      async () => (await database.sql`select 1 where cardinality(pg_blocking_pids(${holder.pid})) > 0`).length > 0,
    )
    await gate.letGo()
    await crossing
    await holder.letGo()
    expect(await migrating).toEqual(['0001_test.sql'])
    expect(waits.length).toBeGreaterThan(0)
  })

  test('an index is built beside writers, waits for older transactions as long as it may, and anew when a try left half of it', async () => {
    const url = await make('create unique index concurrently a_ids on a (id)')
    await database.sql.unsafe('create table a (id int); insert into a values (1), (1)')
    await expect(migrate(database.sql, { ...HURRIED, folder: url })).rejects.toThrow(/^Migration 0001_test.sql.*a_ids/)
    await database.sql`delete from a`
    const holder = await holdLock(database.url, 'insert into a values (1)')
    const waits: string[] = []
    const migrating = migrate(database.sql, { ...HURRIED, folder: url, onWait: (line) => waits.push(line) })
    await untilWaitedFor(database.sql, holder.pid)
    await database.sql`insert into a values (2)`
    await holder.letGo()
    expect([await migrating, waits]).toEqual([['0001_test.sql'], []])
    const [index] = await database.sql`select indisvalid from pg_index where indexrelid = 'a_ids'::regclass`
    expect(index).toEqual({ indisvalid: true })
  })

  test('a migrator that loses its connection says so, leaves no lock behind, and the next one goes on', async () => {
    const url = await make('create table b (id int)', 'alter table a add column b int')
    await database.sql`create table a (id int)`
    const holder = await holdLock(database.url, 'lock table a')
    const migrating = migrate(database.sql, { ...HURRIED, lockTimeoutMs: 60_000, folder: url })
    const failed = expect(migrating).rejects.toThrow(/^Migration 0002_test.sql was interrupted: .*Run this again/)
    await untilWaitedFor(database.sql, holder.pid)
    await database.sql`select pg_terminate_backend(pid) from pg_stat_activity where ${holder.pid} = any(pg_blocking_pids(pid))`
    await failed
    await holder.letGo()
    expect(await migrate(database.sql, { ...HURRIED, folder: url })).toEqual(['0002_test.sql'])
  })

  test('two at once take turns, and whoever waits for too long says whom it waited for', async () => {
    const url = await make('alter table a add column b int')
    await database.sql`create table a (id int)`
    const holder = await holdLock(database.url, 'lock table a')
    const first = migrate(database.sql, { ...HURRIED, lockTimeoutMs: 60_000, folder: url })
    await untilWaitedFor(database.sql, holder.pid)
    await expect(migrate(database.sql, { ...HURRIED, budgetMs: 100, folder: url })).rejects.toThrow(
      /^Nothing was migrated here: for 0.1 s process \d+ \(test, active for \d+ s\) was at it/,
    )
    await holder.letGo()
    expect(await first).toEqual(['0001_test.sql'])
  })
})
