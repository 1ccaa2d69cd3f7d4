import { hostname } from 'node:os'
import type { Deed } from '../audit/repository.js'
import type { AuditAction } from '../audit/schema.js'
import { verifyAudit } from '../audit/verify.js'
import { refuseArguments } from './arguments.js'
import { Refusal, type Command } from './command.js'

/** An operator's action, as it is written down: no organisation's, and known by the machine it was done on. */
export function operatorDeed(action: AuditAction, targetId: string): Deed {
  const actor = { kind: 'operator', id: 'ops', name: hostname() }
  return { organisationId: null, actor, action, targetId, requestId: null, ip: null }
}

export const verify: Command = {
  words: 'audit verify',
  takes: '',
  does: 'Compute every chain of the audit log anew; exits 1 when a row was changed, put in or taken out',
  async run({ database, print }, args) {
    refuseArguments(args, 'audit verify')
    const { rows, chains, unchained, broken } = await verifyAudit(database)
    print(`${rows} rows in ${chains} chains, ${unchained} not chained yet`)
    if (broken.length === 0) return
    const lines = broken.map(
      ({ id, organisationId, problem }) => `${id} of ${organisationId ?? 'the operator'}: ${problem}`,
    )
    throw new Refusal(`The audit log does not hold. ${lines.join('; ')}`)
  },
}
