import type { Sql } from './client.js'

interface Holder {
  pid: number
  name: string | null
  state: string | null
  seconds: number | null
}

/** Who keeps this server process waiting, in words; null when it waits for nobody. Those that wait themselves are passed over for whom they wait for. */
export async function describeBlockers(sql: Sql, pid: number): Promise<string | null> {
  const holders = await sql<Holder[]>`
    with recursive chain (pid) as (
      select unnest(pg_blocking_pids(${pid}))
      union
      select unnest(pg_blocking_pids(c.pid)) from chain c where c.pid <> 0
    )
    select c.pid, ${described(sql)}
      from chain c left join pg_stat_activity a on a.pid = c.pid
     where cardinality(pg_blocking_pids(c.pid)) = 0 and c.pid <> ${pid}
     order by c.pid`
  return holders.length > 0 ? holders.map(inWords).join(' and ') : null
}

/** Who holds this advisory lock of this database, in words; null when nobody does. */
export async function describeAdvisoryHolder(sql: Sql, key: string): Promise<string | null> {
  const holders = await sql<Holder[]>`
    select l.pid, ${described(sql)}
      from pg_locks l left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.objsubid = 1
       and l.database = (select oid from pg_database where datname = current_database())
       and (l.classid::bigint << 32) | l.objid::bigint = hashtext(${key})::bigint`
  return holders.length > 0 ? holders.map(inWords).join(' and ') : null
}

/** A role that may not see another's doings is still shown whose they are. */
function described(sql: Sql) {
  return sql`coalesce(nullif(a.application_name, ''), nullif(a.backend_type, 'client backend'), 'of role ' || a.usename) as name, a.state,
    extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.state_change, a.backend_start))::float8 as seconds`
}

function inWords({ pid, name, state, seconds }: Holder): string {
  if (pid === 0) return 'a prepared transaction (pg_prepared_xacts shows which)'
  const time = seconds === null ? null : `for ${Math.round(seconds)} s`
  const what = [name, [state, time].filter(Boolean).join(' ')].filter(Boolean).join(', ')
  return what ? `process ${pid} (${what})` : `process ${pid}`
}
