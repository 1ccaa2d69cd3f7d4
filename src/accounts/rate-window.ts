import type { Sql } from '../db/client.js'

/** Where a key stands in its current window. */
export interface RateWindow {
  limit: number
  remaining: number
  /** Unix seconds. */
  reset: number
  /** Milliseconds until then, by the clock that counts. */
  resetInMs: number
  exceeded: boolean
}

/** Counts one request of a key in the minute of the database's clock, in one statement. */
export async function countRequest(sql: Sql, keyId: string, limit: number): Promise<RateWindow> {
  const [row] = await sql<[{ requests: number; reset: number; resetInMs: number }]>`
    insert into rate_windows as w (key_id, starts_at, requests) values (${keyId}, date_trunc('minute', now()), 1)
    on conflict (key_id) do update
       set requests = case when w.starts_at = excluded.starts_at then w.requests + 1 else 1 end, starts_at = excluded.starts_at
    returning requests, extract(epoch from starts_at + interval '1 minute')::int as reset,
              (extract(epoch from starts_at + interval '1 minute' - now()) * 1000)::float8 as "resetInMs"`
  const unlimited = limit < 0
  return {
    limit,
    remaining: unlimited ? -1 : Math.max(0, limit - row.requests),
    reset: row.reset,
    resetInMs: row.resetInMs,
    exceeded: !unlimited && row.requests > limit,
  }
}
