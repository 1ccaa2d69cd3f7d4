import type { ReservedSql } from 'postgres'
import { connectDatabase, type Database } from '../../src/db/client.js'
import { until } from './until.js'

export interface LockHolder {
  /** Its connection, in the middle of its transaction. */
  tx: ReservedSql
  pid: number
  letGo(): Promise<void>
}

/** Somebody with an open transaction who holds what the statement locked until it is let go. */
export async function holdLock(url: string, statement: string): Promise<LockHolder> {
  const sql = connectDatabase({ url, name: 'a careless report', max: 1 })
  const tx = await sql.reserve()
  await tx`begin`
  await tx.unsafe(statement)
  const [row] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`
  return {
    tx,
    pid: row.pid,
    async letGo() {
      await tx`commit`
      tx.release()
      await sql.end()
    },
  }
}

/** Waits until somebody waits for what this process holds. */
export async function untilWaitedFor(sql: Database, pid: number): Promise<void> {
  await until(
    `somebody waits for process ${pid}`,
    async () => (await sql`select 1 from pg_stat_activity where ${pid} = any(pg_blocking_pids(pid))`).length > 0,
  )
}

/** How many statements on this connection's database wait for a lock: of one program, or with a text in them. */
export async function countWaiting(
  sql: Database,
  { of = '%', text = '' }: { of?: string; text?: string },
): Promise<number> {
  const rows = await sql`
    select 1 from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'
       and application_name like ${of} and query like ${`%${text}%`}`
  return rows.length
}
