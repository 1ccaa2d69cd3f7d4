import { AppError, invalid, notFound } from '../../errors.js'
import { parseInput } from '../../validation.js'
import { createPlatformHttp, settleCall, type Failure } from '../platforms/http.js'
import type { Gateway } from './reach-account.js'
import type { Account, Platform } from '../platforms/platform.js'

/** Asks the platform who the account is. Repeatable; writes nothing. Throws 404 for an unknown platform, 422 for fields it does not take,
 *  credentials it refuses and an address where it is not, 503 when it does not answer. */
export async function connectAccount(
  { platforms, clients, callTimeoutMs }: Gateway,
  request: { organisationId: string; platform: string; fields: Record<string, unknown> },
): Promise<Account> {
  const platform = platforms.get(request.platform)
  if (!platform) throw notFound()
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
  return new AppError('platform_unavailable', `${name} does not answer; nothing was connected. Try again.`, {
    platform: id,
    platform_message: platformMessage,
  })
}
