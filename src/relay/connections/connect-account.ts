import { AppError, invalid, platformProblem } from '../../errors.js'
import { parseInput } from '../../validation.js'
import type { Caller } from '../../accounts/schema.js'
import { lockQuota } from '../../accounts/usage.js'
import type { Transaction } from '../../db/client.js'
import { createPlatformHttp, settleCall, type Failure } from '../platforms/http.js'
import type { Gateway } from './reach-account.js'
import type { Account, Platform } from '../platforms/platform.js'
import { countConnections, saveConnection } from './repository.js'
import type { Connection } from './schema.js'

/** Asks the platform who the account is. Repeatable; writes nothing. Throws 422 for an unknown platform, for fields it does not take,
 *  credentials it refuses and an address where it is not, 503 when it does not answer. */
export async function connectAccount(
  { platforms, clients, callTimeoutMs }: Gateway,
  request: { organisationId: string; platform: string; fields: Record<string, unknown> },
): Promise<Account> {
  const platform = platforms.get(request.platform)
  if (!platform) throw invalid([{ path: 'platform', message: 'is not a destination; GET /v1/platforms lists them' }])
  const fields = parseInput(platform.auth.fields, request.fields, ['fields'])
  const { origin, inner } = platform.entry(fields)
  const client = inner ? clients.inner : clients.egress
  const http = createPlatformHttp({ origin, refusals: platform.refusals, client, timeoutMs: callTimeoutMs })
  const answer = await settleCall(() => platform.connect({ fields, organisationId: request.organisationId }, http))
  if ('value' in answer) return answer.value
  throw explain(platform, answer.failure)
}

/** Which field to change, in the words of whoever filled it in. */
function explain({ id, name, auth }: Platform, failure: Failure): AppError {
  const { certainty, code, httpStatus, platformMessage, cause } = failure
  const blame = (field: string, message: string) =>
    invalid([{ path: `fields.${field}`, message }], undefined, { platform: id, platform_message: platformMessage })
  const { credentials, address } = auth.blame
  if (certainty === 'refused' && (code === 'auth_expired' || code === 'auth_revoked'))
    return blame(credentials, `${name} does not accept these credentials`)
  if (address && cause === 'EGRESS_REFUSED') return blame(address, 'is not an address that may be called')
  if (address && cause === 'ENOTFOUND') return blame(address, 'is a name that cannot be found')
  if (address && httpStatus !== null && httpStatus >= 300 && httpStatus < 400)
    return blame(address, 'redirects elsewhere; give the address it leads to')
  if (address && httpStatus !== null && httpStatus < 500 && code !== 'rate_limited')
    return blame(address, `does not answer as a ${name} server`)
  if (certainty === 'refused' && code !== 'rate_limited')
    return blame(credentials, `${name} refused: ${platformMessage}`)
  return platformProblem('platform_unavailable', `${name} does not answer; nothing was connected. Try again.`, {
    platform: id,
    platformMessage,
  })
}

/** Keeps the account that was asked for. Throws 429 quota_exceeded when that is one more than the plan allows; an account that is connected already is
 *  none. */
export async function keepAccount(
  tx: Transaction,
  { organisationId, limits }: Caller,
  connection: Parameters<typeof saveConnection>[2],
): Promise<Connection> {
  const { connections: max } = limits
  if (max >= 0) await lockQuota(tx, organisationId)
  const { connection: saved, fresh } = await saveConnection(tx, organisationId, connection)
  if (max < 0 || !fresh) return saved
  const used = await countConnections(tx, organisationId)
  if (used <= max) return saved
  throw new AppError('quota_exceeded', `The plan allows ${max} connections; delete one or change the plan.`, {
    limit: 'connections',
    max,
    used: used - 1,
    resets_at: null,
  })
}
