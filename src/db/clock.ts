import type { Sql } from './client.js'

/** Now, by the one clock that all processes share: what is due is judged by it (decisions.md 1). */
export async function readClock(sql: Sql): Promise<Date> {
  const [{ now }] = await sql<[{ now: Date }]>`select clock_timestamp() as now`
  return now
}

/** An instant of the database's clock, so many milliseconds from now. */
export const instantIn = (sql: Sql, ms: number) => sql`now() + ${ms} * interval '1 millisecond'`

/** The same as text, in the form that answers have: for what is kept inside JSON. */
export const instantText = (sql: Sql, ms = 0) => sql`
  to_char((${instantIn(sql, ms)}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
