import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Database, Sql } from './client.js'

const folder = new URL('./migrations/', import.meta.url)

interface Migration {
  name: string
  text: string
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(fileURLToPath(folder))).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(new URL(name, folder), 'utf8') })))
}

async function readApplied(sql: Sql): Promise<string[]> {
  const [exists] = await sql<{ there: boolean }[]>`select to_regclass('migrations') is not null as there`
  if (!exists?.there) return []
  const rows = await sql<{ name: string }[]>`select name from migrations order by name`
  return rows.map(({ name }) => name)
}

function refuseNewer(applied: string[], known: string[]): void {
  const unknown = applied.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  throw new Error(
    `The database is newer than this code: it has migration ${unknown.at(-1)}, the newest known here is ${known.at(-1)}. Run the release that made it, or a later one.`,
  )
}

/** Applies what is missing, in order, all in one transaction; answers the names applied. Two processes at once are serialised by an advisory lock.
 *  Throws a one-sentence Error when the database is newer than this code. */
export async function migrate(database: Database): Promise<string[]> {
  const migrations = await readMigrations()
  return database.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtext('migrations'))`
    const applied = await readApplied(tx)
    refuseNewer(
      applied,
      migrations.map(({ name }) => name),
    )
    await tx`create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())`
    const missing = migrations.filter(({ name }) => !applied.includes(name))
    for (const { name, text } of missing) {
      await tx.unsafe(text)
      await tx`insert into migrations (name) values (${name})`
    }
    return missing.map(({ name }) => name)
  })
}

/** Throws a one-sentence Error unless the database has exactly the migrations this code knows. Every process calls it before it starts. */
export async function requireCurrentSchema(database: Database): Promise<void> {
  const known = (await readMigrations()).map(({ name }) => name)
  const applied = await readApplied(database)
  refuseNewer(applied, known)
  const missing = known.filter((name) => !applied.includes(name))
  if (missing.length > 0) throw new Error(`The database lacks migration ${missing[0]}: run \`npm run migrate\` first.`)
}
