import type { Database, Sql } from '../db/client.js'
import { contentColumns } from './chain.js'
import { chainHash, GENESIS, type ChainedContent } from './rules.js'

/** What a check of the audit log found. */
export interface AuditCheck {
  rows: number
  chains: number
  /** Written and not chained yet. */
  unchained: number
  /** The first row of each chain that does not hold, and why. */
  broken: { id: string; organisationId: string | null; problem: string }[]
}

interface ChainedRow extends ChainedContent {
  seq: string
  prev_hash: Uint8Array
  hash: Uint8Array
}

const PORTION = 1_000

/** Computes every chain anew and compares. Finds a row that was changed, put in or taken out; rows cut from the end of a chain leave no trace in it. */
export async function verifyAudit(database: Database): Promise<AuditCheck> {
  const check: AuditCheck = { rows: 0, chains: 0, unchained: await countUnchained(database), broken: [] }
  let [chain, seq, hash, sound] = ['', 0, GENESIS as Uint8Array, true]
  for await (const rows of readChains(database).cursor(PORTION))
    for (const row of rows) {
      const itsChain = row.organisation_id ?? ''
      if (check.rows++ === 0 || itsChain !== chain) {
        ;[chain, seq, hash, sound] = [itsChain, 0, GENESIS, true]
        check.chains++
      }
      const problem = sound ? findProblem(row, seq, hash) : null
      if (problem) check.broken.push({ id: row.id, organisationId: row.organisation_id, problem })
      ;[seq, hash, sound] = [Number(row.seq), row.hash, sound && !problem]
    }
  return check
}

function findProblem(row: ChainedRow, seq: number, hash: Uint8Array): string | null {
  if (Number(row.seq) !== seq + 1) return `number ${seq + 1} is missing before it`
  if (Buffer.compare(row.prev_hash, hash) !== 0) return 'it does not continue the row before it'
  return chainHash(contentOf(row), seq + 1, hash).equals(row.hash) ? null : 'it was changed'
}

function contentOf({ seq: _seq, prev_hash: _prevHash, hash: _hash, ...content }: ChainedRow): ChainedContent {
  return content
}

function readChains(sql: Sql) {
  return sql<ChainedRow[]>`
    select ${contentColumns(sql)}, seq, prev_hash, hash from audit_log
     where seq is not null order by coalesce(organisation_id, ''), seq`
}

async function countUnchained(sql: Sql): Promise<number> {
  const [row] = await sql<[{ count: number }]>`select count(*)::int as count from audit_log where seq is null`
  return row.count
}
