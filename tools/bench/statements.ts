import type { Database } from '../../src/db/client.js'

export interface Statement {
  text: string
  calls: number
  ms: number
}

/** Forgets what was counted so far. */
export async function resetStatements(database: Database): Promise<void> {
  await database`select pg_stat_statements_reset()`
}

/** Every statement since, BEGIN and COMMIT included; without those of the sandbox, which plays the platform, of the driver when it connects,
 *  and of whoever counts (`/* bench *\/`). */
export async function readStatements(database: Database): Promise<Statement[]> {
  const counted = await database<Statement[]>`
    select query as text, calls::int, total_exec_time as ms from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database())
       and query !~ 'sandbox_|pg_stat_statements|pg_catalog|/[*] bench [*]/'
     order by calls desc, text`
  // A prepared COMMIT is counted only the first time on a connection, as PostgreSQL clears the id of a utility statement's cached plan. Each
  // transaction here begins by a simple BEGIN, which is counted, and ends by one COMMIT.
  return counted.flatMap((each) =>
    each.text === 'commit' ? [] : each.text === 'begin' ? [each, { ...each, text: 'commit' }] : [each],
  )
}
