import postgres, { type ISql, type JSONValue, type Sql as PostgresSql, type TransactionSql } from 'postgres'

/** The pool, which may open transactions. */
export type Database = PostgresSql

/** What a repository needs: the pool or a transaction. */
export type Sql = ISql

/** One transaction; what commits together is written through the same one. */
export type Transaction = TransactionSql

/** What `sql.json` takes. */
export type Json = JSONValue

export interface DatabaseOptions {
  url: string
  /** Shown in `pg_stat_activity`. */
  name: string
  /** Connections at the most. */
  max: number
}

/** A pool of PostgreSQL connections, opened on first use. */
export function connectDatabase({ url, name, max }: DatabaseOptions): Database {
  return postgres(url, { max, connection: { application_name: name }, onnotice: () => undefined })
}
