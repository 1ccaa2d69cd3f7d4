import type { Request, Response } from 'express'
import type { Caller } from '../../src/accounts/schema.js'
import { writeAudit } from '../../src/audit/repository.js'
import type { Transaction } from '../../src/db/client.js'
import type { AnyRoute } from './route.js'

interface Done {
  route: AnyRoute
  caller: Caller
  request: Request
  response: Response
  params: { id?: string }
  result: unknown
}

/** Writes down what a route did, in its transaction: the last statement before its commit. Nothing for a route that reads. */
export async function auditOf(tx: Transaction, done: Done): Promise<void> {
  const { route, caller, request, response, params, result } = done
  if (!route.audit) return
  const { organisationId, kind, id, name } = caller
  await writeAudit(tx, {
    organisationId,
    actor: { kind, id, name },
    action: route.audit,
    targetId: params.id ?? (result as { id: string }).id,
    requestId: response.get('x-request-id') ?? null,
    ip: addressOf(request),
  })
}

/** The caller's address as far as `TRUST_PROXY` lets anybody name it; an IPv4 address as such. */
function addressOf({ ip }: Request): string | null {
  return ip?.replace(/^::ffff:(?=\d+\.)/, '') ?? null
}
