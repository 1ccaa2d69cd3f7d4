import type { Database, Sql, Transaction } from '../db/client.js'
import { chainHash, GENESIS, type ChainedContent } from './rules.js'

const BATCH = 1_000

interface Head {
  seq: number
  hash: Uint8Array
}

interface Link {
  id: string
  seq: number
  prev_hash: string
  hash: string
}

/** The columns a hash covers. */
export const contentColumns = (sql: Sql) => sql`
  id, organisation_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, actor, action, target, request_id, ip`

/** Chains what was written since, each organisation's rows behind its last one, in id order as far as they have committed; answers how many.
 *  One process at a time: another that comes meanwhile leaves it to the first. */
export async function chainAudit(database: Database): Promise<number> {
  let chained = 0
  for (;;) {
    const count = await database.begin(chainBatch)
    chained += count
    if (count < BATCH) return chained
  }
}

async function chainBatch(tx: Transaction): Promise<number> {
  const [lock] = await tx<[{ mine: boolean }]>`
    select pg_try_advisory_xact_lock(hashtextextended('audit chain', 0)) as mine`
  if (!lock.mine) return 0
  const rows = await tx<ChainedContent[]>`
    select ${contentColumns(tx)} from audit_log where seq is null order by id limit ${BATCH}`
  if (rows.length === 0) return 0
  const links = linkRows(rows, await readHeads(tx, [...new Set(rows.map(chainOf))]))
  await tx`
    update audit_log a set seq = l.seq, prev_hash = decode(l.prev_hash, 'hex'), hash = decode(l.hash, 'hex')
      from jsonb_to_recordset(${tx.json(links.map((link) => ({ ...link })))}) as l (id text, seq bigint, prev_hash text, hash text)
     where a.id = l.id and a.seq is null`
  return rows.length
}

const chainOf = ({ organisation_id }: ChainedContent) => organisation_id ?? ''

function linkRows(rows: readonly ChainedContent[], heads: Map<string, Head>): Link[] {
  return rows.map((row) => {
    const before = heads.get(chainOf(row)) ?? { seq: 0, hash: GENESIS }
    const seq = before.seq + 1
    const hash = chainHash(row, seq, before.hash)
    heads.set(chainOf(row), { seq, hash })
    return { id: row.id, seq, prev_hash: Buffer.from(before.hash).toString('hex'), hash: hash.toString('hex') }
  })
}

async function readHeads(sql: Sql, chains: string[]): Promise<Map<string, Head>> {
  const rows = await sql<{ chain: string; seq: string; hash: Uint8Array }[]>`
    select c.chain, h.seq, h.hash
      from unnest(${chains}::text[]) as c (chain)
      join lateral (select seq, hash from audit_log
                     where coalesce(organisation_id, '') = c.chain and seq is not null order by seq desc limit 1) h on true`
  return new Map(rows.map(({ chain, seq, hash }) => [chain, { seq: Number(seq), hash }]))
}
