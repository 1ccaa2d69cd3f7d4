import type { Sql } from './client.js'

/** Now, by the one clock that all processes share: what is due is judged by it (decisions.md 1). */
export async function readClock(sql: Sql): Promise<Date> {
  const [{ now }] = await sql<[{ now: Date }]>`select clock_timestamp() as now`
  return now
}
