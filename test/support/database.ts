import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { connectDatabase, type Database } from '../../src/db/client.js'

/** The migrated database that every test's own is copied from. */
export const TEMPLATE = 'relay_template'

export interface TestDatabase {
  url: string
  sql: Database
  drop(): Promise<void>
}

function requireUrl(): string {
  const url = process.env.TEST_POSTGRES_URL
  if (!url) throw new Error('Run the tests by `npm test`, which starts PostgreSQL and Temporal.')
  return url
}

/** A database of a test file's own; an empty one for tests of the migrations themselves. */
export async function createTestDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const url = new URL(requireUrl())
  await asAdmin((admin) => admin.unsafe(`create database ${name} template ${empty ? 'template0' : TEMPLATE}`))
  url.pathname = name
  const sql = connectDatabase({ url: url.href, name: 'test', max: 5 })
  return {
    url: url.href,
    sql,
    async drop() {
      await sql.end({ timeout: 5 })
      await asAdmin((admin) => admin.unsafe(`drop database ${name} with (force)`))
    },
  }
}

async function asAdmin(work: (admin: postgres.Sql) => Promise<unknown>): Promise<void> {
  const admin = postgres(requireUrl(), { max: 1 })
  try {
    await work(admin)
  } finally {
    await admin.end()
  }
}
