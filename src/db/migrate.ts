import postgres from 'postgres'
import { applyMigration, type Migrator } from './apply-migration.js'
import type { Database, Sql } from './client.js'
import { describeAdvisoryHolder } from './lock-holders.js'
import { readMigrations, type Migration } from './migration-files.js'
import { PATIENCE, tryPatiently, type Patience } from './patience.js'

/** The advisory lock that whoever migrates has. */
const LOCK = 'migrations'

interface MigrateOptions extends Partial<Patience> {
  /** Where the migrations are; this code's own by default. */
  folder?: URL
  onWait?: Migrator['onWait']
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

/** Applies what is missing, in order, each in a transaction of its own; answers the names applied. Processes that do so at once take turns. What runs
 *  beside it never waits for long: docs/decisions/0022. Throws one sentence when the database is newer than this code, or a migration cannot be applied. */
export async function migrate(database: Database, options: MigrateOptions = {}): Promise<string[]> {
  const { folder, onWait = () => undefined, ...given } = options
  const migrations = await readMigrations(folder)
  // Connections of its own: with their end, whatever becomes of it, its lock and settings are gone.
  const looking = openBeside(database)
  try {
    const working = await looking.reserve()
    try {
      return await applyMissing({ working, looking, patience: { ...PATIENCE, ...given }, onWait }, migrations)
    } finally {
      working.release()
    }
  } finally {
    await looking.end({ timeout: 1 })
  }
}

async function applyMissing(migrator: Migrator, migrations: Migration[]): Promise<string[]> {
  const { working } = migrator
  await takeTurn(migrator)
  const applied = await readApplied(working)
  refuseNewer(
    applied,
    migrations.map(({ name }) => name),
  )
  await working`create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())`
  const missing = migrations.filter(({ name }) => !applied.includes(name))
  for (const migration of missing) await applyMigration(migrator, migration)
  return missing.map(({ name }) => name)
}

/** Asked for again and again and not waited for: a statement that waits is a transaction that a concurrent index of the other one would wait for. */
async function takeTurn({ working, patience, onWait }: Migrator): Promise<void> {
  const attempt = async () => {
    const [row] = await working<[{ ours: boolean }]>`select pg_try_advisory_lock(hashtext(${LOCK})) as ours`
    return row.ours ? null : ((await describeAdvisoryHolder(working, LOCK)) ?? 'another migration')
  }
  const other = await tryPatiently({ patience, attempt, onWait: (who) => onWait(`Waiting for ${who}, which migrates`) })
  if (other === null) return
  const seconds = patience.budgetMs / 1_000
  throw new Error(`Nothing was migrated here: for ${seconds} s ${other} was at it. Run this again when that has ended.`)
}

function openBeside({ options }: Database): Database {
  // The driver takes what it made of the options as options, and does so itself where it listens; its types do not tell.
  return postgres({ ...options, max: 2, idle_timeout: null, max_lifetime: null } as unknown as postgres.Options<
    Record<string, never>
  >)
}

/** Throws a one-sentence Error unless the database has exactly the migrations this code knows. Every process calls it before it starts. */
export async function requireCurrentSchema(database: Database): Promise<void> {
  const known = (await readMigrations()).map(({ name }) => name)
  const applied = await readApplied(database)
  refuseNewer(applied, known)
  const missing = known.filter((name) => !applied.includes(name))
  if (missing.length > 0) throw new Error(`The database lacks migration ${missing[0]}: run \`npm run migrate\` first.`)
}
