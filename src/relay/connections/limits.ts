import type { Sql } from '../../db/client.js'
import type { Log } from '../../log.js'
import type { Platform } from '../platforms/platform.js'

/** Where a limit holds: for a connection (its id), or for every account of a platform. */
export function limitScope({ id, limitScope }: Pick<Platform, 'id' | 'limitScope'>, connectionId: string): string {
  return limitScope === 'app' ? `app/${id}` : connectionId
}

/** Keeps that nothing may be called in the scope for `ms` from now, 24 hours at the most; a limit known already only grows. */
export async function learnLimit(sql: Sql, scope: string, ms: number): Promise<void> {
  await sql`
    insert into learned_limits as known (scope, until)
    values (${scope}, now() + least(${ms} * interval '1 millisecond', interval '24 hours'))
    on conflict (scope) do update set until = greatest(known.until, excluded.until)`
}

/** Removes limits that have passed; answers how many. */
export async function dropPastLimits(sql: Sql): Promise<number> {
  const { count } = await sql`delete from learned_limits where until < now()`
  return count
}

/** Writes limits down beside the work that met them: nothing may come between a platform's answer and the outcome's transaction, so nobody waits for
 *  it. One that is lost is met again. */
export function createLimitBook(database: Sql, log: Log): (scope: string, ms: number) => void {
  return (scope, ms) => {
    learnLimit(database, scope, ms).catch((error: unknown) => log.warn({ error, scope }, 'limit.not_kept'))
  }
}
