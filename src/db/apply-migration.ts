import postgres, { type ReservedSql } from 'postgres'
import type { Database } from './client.js'
import { buildConcurrently, concurrentIndexOf } from './concurrent-index.js'
import { describeBlockers } from './lock-holders.js'
import type { Migration } from './migration-files.js'
import { tryPatiently, whileLooking, type Patience } from './patience.js'

/** lock_not_available, deadlock_detected: somebody else was in the way, and need not be the next time. */
const IN_THE_WAY = new Set(['55P03', '40P01'])

export interface Migrator {
  /** One connection, which has the migrators' lock. */
  working: ReservedSql
  /** Another, to see whom the first one waits for. */
  looking: Database
  patience: Patience
  /** Told why it waits, each time it will try again. */
  onWait: (line: string) => void
}

/** Applies one migration and writes that down, both or neither. Throws one sentence when it cannot: who held a lock for longer than there is patience, or what PostgreSQL said. */
export async function applyMigration(migrator: Migrator, migration: Migration): Promise<void> {
  const { looking, patience, onWait } = migrator
  const { name } = migration
  const pid = await backendPid(migrator.working)
  const look = () => describeBlockers(looking, pid)
  let holder = 'somebody who could not be seen (pg_locks and pg_stat_activity may show who)'
  const attempt = async (leftMs: number) => {
    const trying = tryOnce(migrator, migration, leftMs)
    holder = (await whileLooking(trying, { look, everyMs: patience.lockTimeoutMs / 5 })) ?? holder
    return trying.then(
      () => null,
      (error: unknown) => {
        if (error instanceof postgres.PostgresError && IN_THE_WAY.has(error.code)) return holder
        throw explain(name, error)
      },
    )
  }
  const why = await tryPatiently({ patience, attempt, onWait: (who) => onWait(`${name} waits for ${who}`) })
  if (why === null) return
  const seconds = patience.budgetMs / 1_000
  throw new Error(
    `Migration ${name} was not applied: for ${seconds} s it waited in vain for a lock held by ${why}. The migrations before it are applied, nothing of it is. ` +
      'Wait until that has ended, or end it with pg_terminate_backend, then run this again: it goes on with this one.',
  )
}

async function tryOnce({ working, patience }: Migrator, { name, text }: Migration, leftMs: number): Promise<void> {
  const index = concurrentIndexOf(text)
  // Nobody queues behind a concurrent build, which waits for every older transaction to end: it may wait as long as it has.
  const lockTimeoutMs = index ? Math.max(patience.lockTimeoutMs, Math.ceil(leftMs)) : patience.lockTimeoutMs
  await working`select set_config('lock_timeout', ${String(lockTimeoutMs)}, false)`
  if (index) {
    await buildConcurrently(working, { name: index, text })
    await working`insert into migrations (name) values (${name})`
    return
  }
  await working`begin`
  try {
    await working.unsafe(text)
    await working`insert into migrations (name) values (${name})`
    await working`commit`
  } catch (error) {
    await working`rollback`
    throw error
  }
}

async function backendPid(sql: ReservedSql): Promise<number> {
  const [row] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`
  return row.pid
}

function explain(name: string, error: unknown): Error {
  const said = error instanceof Error ? error.message : String(error)
  // A connection that breaks at the commit leaves open which of both it was.
  return error instanceof postgres.PostgresError
    ? new Error(`Migration ${name} was not applied: ${said}. The migrations before it are applied, nothing of it is.`, {
        cause: error,
      })
    : new Error(`Migration ${name} was interrupted: ${said}. Run this again: it goes on where it stopped.`, {
        cause: error,
      })
}
