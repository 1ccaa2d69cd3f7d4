import type { PendingQuery, Row } from 'postgres'
import type { Database, Sql } from '../db/client.js'
import type { BlobStore } from './blob-store.js'

/** Where files are, and what is written down of them. */
export interface Storage {
  database: Database
  blobs: BlobStore
}

const BATCH = 100

/** Notes, before its first byte, a file that nothing refers to yet; it may take an hour to be kept. */
export async function noteLoose(sql: Sql, blob: string): Promise<void> {
  await sql`insert into loose_blobs (blob, doomed_at) values (${blob}, now() + interval '1 hour')`
}

/** Keeps a file, in the transaction that refers to it. Throws when the sweep was faster. */
export async function keepBlob(tx: Sql, blob: string): Promise<void> {
  const { count } = await tx`delete from loose_blobs where blob = ${blob}`
  if (count !== 1) throw new Error(`The file ${blob} took too long and is gone`)
}

/** Lets go of a file, in the transaction that ends the last reference to it; the sweep takes it away once that has committed. */
export async function letGo(tx: Sql, blob: string): Promise<void> {
  await tx`insert into loose_blobs (blob, doomed_at) values (${blob}, now())`
}

/** Takes a file away now, unless it was kept meanwhile. */
export async function dropLoose(storage: Storage, blob: string): Promise<void> {
  await dropWhere(storage, (sql) => sql`where blob = ${blob} for update`)
}

/** Takes files away whose time has come; answers how many. */
export async function sweepLoose(storage: Storage): Promise<number> {
  const due = (sql: Sql) => sql`where doomed_at <= now() order by doomed_at limit ${BATCH} for update skip locked`
  return dropWhere(storage, due)
}

/** Under the rows' locks, so that nobody keeps a file that is being taken away. */
async function dropWhere({ database, blobs }: Storage, which: (sql: Sql) => PendingQuery<Row[]>): Promise<number> {
  return database.begin(async (tx) => {
    const rows = await tx<{ blob: string }[]>`select blob from loose_blobs ${which(tx)}`
    for (const { blob } of rows) await blobs.delete(blob)
    if (rows.length > 0) await tx`delete from loose_blobs where blob in ${tx(rows.map(({ blob }) => blob))}`
    return rows.length
  })
}
