import postgres, {
  type ISql,
  type JSONValue,
  type PendingQuery,
  type Row,
  type Sql as PostgresSql,
  type TransactionSql,
} from 'postgres'

/** The pool, which may open transactions. */
export type Database = PostgresSql

/** What a repository needs: the pool or a transaction. */
export type Sql = ISql

/** One transaction; what commits together is written through the same one. */
export type Transaction = TransactionSql

/** A part of a statement, or a whole one that was not sent. */
export type Fragment = PendingQuery<Row[]>

/** What `sql.json` takes. */
export type Json = JSONValue

export interface DatabaseOptions {
  url: string
  /** Shown in `pg_stat_activity`. */
  name: string
  /** Connections at the most. */
  max: number
  /** After this long without a query a connection is closed; never by default. */
  idleSeconds?: number
}

/** A pool of PostgreSQL connections, opened on first use. */
export function connectDatabase({ url, name, max, idleSeconds }: DatabaseOptions): Database {
  const idle = idleSeconds === undefined ? {} : { idle_timeout: idleSeconds }
  return postgres(url, { max, ...idle, connection: { application_name: name }, onnotice: () => undefined })
}
