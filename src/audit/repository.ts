import type { Sql } from '../db/client.js'
import { page, type Page, type PageQuery } from '../db/page.js'
import { newId } from '../ids.js'
import type { AuditAction, AuditEntry } from './schema.js'

/** What is written down of one action. */
export interface Deed {
  /** Null: nobody's but the operator's. */
  organisationId: string | null
  actor: AuditEntry['actor']
  action: AuditAction
  /** The id of what it was done to; its kind is the action's first word. */
  targetId: string
  requestId: string | null
  ip: string | null
}

/** Writes one action down, in the transaction that does it. */
export async function writeAudit(tx: Sql, deed: Deed): Promise<void> {
  const { organisationId, actor, action, targetId, requestId, ip } = deed
  const target = { kind: action.split('.')[0] ?? '', id: targetId }
  await tx`
    insert into audit_log (id, organisation_id, actor, action, target, request_id, ip)
    values (${newId('aud')}, ${organisationId}, ${tx.json({ ...actor })}, ${action}, ${tx.json(target)}, ${requestId}, ${ip})`
}

/** Newest first. `actor` is an actor's id. */
export async function listAudit(
  sql: Sql,
  organisationId: string,
  filter: PageQuery & {
    action?: AuditAction | undefined
    actor?: string | undefined
    from?: string | undefined
    to?: string | undefined
  },
): Promise<Page<AuditEntry>> {
  const { action, actor, from, to, cursor, limit } = filter
  const rows = await sql<(Omit<AuditEntry, 'at'> & { at: Date })[]>`
    select id, at, actor, action, target, request_id, ip from audit_log
     where organisation_id = ${organisationId}
       ${action ? sql`and action = ${action}` : sql``}
       ${actor ? sql`and actor ->> 'id' = ${actor}` : sql``}
       ${from ? sql`and at >= ${from}` : sql``}
       ${to ? sql`and at < ${to}` : sql``}
       ${cursor ? sql`and id < ${cursor}` : sql``}
     order by id desc
     limit ${limit + 1}`
  return page(
    rows.map((row) => ({ ...row, at: row.at.toISOString() })),
    limit,
  )
}
