import type { Database, Transaction } from './db/client.js'
import { rewrap, type KeyEncryptionKey, type SealedColumn } from './encryption.js'

type Keys = readonly KeyEncryptionKey[]

interface SealedRow {
  id: string
  organisation_id: string
  sealed: string
}

/** What a rotation did. */
export interface Rotation {
  rewrapped: number
  alreadyCurrent: number
  /** Rows with a value that no key of the list opens; they were left as they are. */
  unreadable: string[]
}

const BATCH = 500

/** Wraps the data key of every sealed value of these columns with the first key of the list, in batches, each a transaction. It may be stopped and
 *  repeated at any time, and runs beside renewals: rows they hold over a call are passed over, and waited for one by one at the end. */
export async function rotateKeys(
  database: Database,
  { keys, columns, batch = BATCH }: { keys: Keys; columns: readonly SealedColumn[]; batch?: number },
): Promise<Rotation> {
  const total: Rotation = { rewrapped: 0, alreadyCurrent: 0, unreadable: [] }
  for (const column of columns) {
    const { rewrapped, alreadyCurrent, unreadable } = await rotateColumn(database, { keys, column, batch })
    total.rewrapped += rewrapped
    total.alreadyCurrent += alreadyCurrent
    total.unreadable = [...new Set([...total.unreadable, ...unreadable])]
  }
  return total
}

async function rotateColumn(
  database: Database,
  { keys, column, batch }: { keys: Keys; column: SealedColumn; batch: number },
): Promise<Rotation> {
  const [current] = keys
  if (!current) throw new Error('There is no key-encryption key')
  const alreadyCurrent = await countCurrent(database, column, current.id)
  const step = { keys, column, current: current.id }
  const first = await rewrapAll(database, { ...step, batch, held: 'skip' })
  const second = await rewrapAll(database, { ...step, batch: 1, held: 'wait' })
  return { rewrapped: first.rewrapped + second.rewrapped, alreadyCurrent, unreadable: second.unreadable }
}

interface Step {
  keys: Keys
  column: SealedColumn
  current: string
  batch: number
  /** What to do about a row that a renewal holds. */
  held: 'skip' | 'wait'
}

async function rewrapAll(database: Database, step: Step): Promise<Omit<Rotation, 'alreadyCurrent'>> {
  const unreadable: string[] = []
  let rewrapped = 0
  for (let from = ''; ;) {
    const batch = await database.begin((tx) => rewrapBatch(tx, step, from))
    rewrapped += batch.rewrapped
    unreadable.push(...batch.unreadable)
    if (!batch.last) return { rewrapped, unreadable }
    from = batch.last
  }
}

/** `last` is the last id it looked at, null at the end. */
async function rewrapBatch(tx: Transaction, step: Step, from: string) {
  const rows = await lockStale(tx, step, from)
  const tried = rows.map((row) => ({ id: row.id, used: row.sealed, sealed: tryRewrap(row, step) }))
  const done = tried.flatMap(({ id, used, sealed }) => (sealed ? [{ id, used, sealed }] : []))
  return {
    rewrapped: done.length > 0 ? await replaceSealed(tx, step.column, done) : 0,
    unreadable: tried.filter(({ sealed }) => !sealed).map(({ id }) => id),
    last: rows.length < step.batch ? null : (rows.at(-1)?.id ?? null),
  }
}

/** Null: no key of the list opens it, which is the operator's to hear of, and no reason to leave the others. */
function tryRewrap({ id, organisation_id, sealed }: SealedRow, { column, keys }: Step): string | null {
  try {
    return rewrap(sealed, column.placeOf(organisation_id, id), keys)
  } catch {
    return null // told by its row's id
  }
}

async function countCurrent(sql: Database, { table, column }: SealedColumn, keyId: string): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from ${sql(table)} where split_part(${sql(column)}, '.', 2) = ${keyId}`
  return row.count
}

async function lockStale(tx: Transaction, step: Step, from: string): Promise<SealedRow[]> {
  const { column, current, batch, held } = step
  const sealed = tx(column.column)
  return tx<SealedRow[]>`
    select id, organisation_id, ${sealed} as sealed from ${tx(column.table)}
     where id > ${from} and ${sealed} is not null and split_part(${sealed}, '.', 2) <> ${current}
     order by id limit ${batch} for update ${held === 'skip' ? tx`skip locked` : tx``}`
}

/** Guarded by the text it was made from, so that it can never undo a renewal. */
async function replaceSealed(
  tx: Transaction,
  { table, column }: SealedColumn,
  rows: { id: string; sealed: string; used: string }[],
): Promise<number> {
  const { count } = await tx`
    update ${tx(table)} c set ${tx(column)} = r.sealed
      from jsonb_to_recordset(${tx.json(rows)}) as r (id text, sealed text, used text)
     where c.id = r.id and c.${tx(column)} = r.used`
  return count
}
