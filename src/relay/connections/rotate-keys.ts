import type { Database, Sql, Transaction } from '../../db/client.js'
import { rewrap, type KeyEncryptionKey } from '../../encryption.js'
import { credentialsPlace } from './repository.js'

type Keys = readonly KeyEncryptionKey[]

interface SealedRow {
  id: string
  organisation_id: string
  credentials: string
}

/** What a rotation did. */
export interface Rotation {
  rewrapped: number
  alreadyCurrent: number
  /** Connections whose credentials no key of the list opens; they were left as they are. */
  unreadable: string[]
}

const BATCH = 500

/** Wraps the data key of every connection's credentials with the first key of the list, in batches, each a transaction. It may be stopped and
 *  repeated at any time, and runs beside renewals: rows they hold over a call are passed over, and waited for one by one at the end. */
export async function rotateKeys(database: Database, keys: Keys, batch = BATCH): Promise<Rotation> {
  const [current] = keys
  if (!current) throw new Error('There is no key-encryption key')
  const alreadyCurrent = await countCurrent(database, current.id)
  const step = { keys, current: current.id }
  const first = await rewrapAll(database, { ...step, batch, held: 'skip' })
  const second = await rewrapAll(database, { ...step, batch: 1, held: 'wait' })
  return { rewrapped: first.rewrapped + second.rewrapped, alreadyCurrent, unreadable: second.unreadable }
}

interface Step {
  keys: Keys
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
  const tried = rows.map((row) => ({ id: row.id, used: row.credentials, sealed: tryRewrap(row, step.keys) }))
  const done = tried.flatMap(({ id, used, sealed }) => (sealed ? [{ id, used, sealed }] : []))
  return {
    rewrapped: done.length > 0 ? await replaceSealed(tx, done) : 0,
    unreadable: tried.filter(({ sealed }) => !sealed).map(({ id }) => id),
    last: rows.length < step.batch ? null : (rows.at(-1)?.id ?? null),
  }
}

/** Null: no key of the list opens it, which is the operator's to hear of, and no reason to leave the others. */
function tryRewrap({ id, organisation_id, credentials }: SealedRow, keys: Keys): string | null {
  try {
    return rewrap(credentials, credentialsPlace(organisation_id, id), keys)
  } catch {
    return null // told by its connection's id
  }
}

async function countCurrent(sql: Sql, keyId: string): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from connections where split_part(credentials, '.', 2) = ${keyId}`
  return row.count
}

async function lockStale(tx: Transaction, { current, batch, held }: Step, from: string): Promise<SealedRow[]> {
  return tx<SealedRow[]>`
    select id, organisation_id, credentials from connections
     where id > ${from} and credentials is not null and split_part(credentials, '.', 2) <> ${current}
     order by id limit ${batch} for update ${held === 'skip' ? tx`skip locked` : tx``}`
}

/** Guarded by the text it was made from, so that it can never undo a renewal. */
async function replaceSealed(tx: Transaction, rows: { id: string; sealed: string; used: string }[]): Promise<number> {
  const { count } = await tx`
    update connections c set credentials = r.sealed
      from jsonb_to_recordset(${tx.json(rows)}) as r (id text, sealed text, used text)
     where c.id = r.id and c.credentials = r.used`
  return count
}
