import { notFound, platformProblem, type ErrorCode } from '../../errors.js'
import type { Sql } from '../../db/client.js'
import { connectionAfter } from '../deliveries/rules.js'
import { settleCall, type Failure } from '../platforms/http.js'
import type { Account } from '../platforms/platform.js'
import { reachAccount, type Gateway } from './reach-account.js'
import { findConnection, findStoredAccount, flagConnection, refreshShown } from './repository.js'
import type { Connection } from './schema.js'

/** What the platform said of an account: who it is, or that it does not accept the credentials any more. */
export type Verified =
  | { shown: Pick<Account, 'handle' | 'displayName' | 'avatarUrl'> }
  | { flagged: 'reauth_required' | 'revoked'; code: string; message: string; used: string }

/** Asks the platform, renewing the token once where it has lapsed. Repeatable. Throws 404, 409 for a connection without credentials, and 503 when the
 *  platform does not answer: then nothing is flagged. */
export async function askAboutConnection(gateway: Gateway, organisationId: string, id: string): Promise<Verified> {
  const { reach, answer, used } = await ask(gateway, organisationId, id)
  if ('value' in answer) return { shown: answer.value }
  if (answer.failure.code !== 'auth_expired')
    return readRefusal({ id, platform: reach.platform.id, used }, answer.failure.code, answer.failure)
  const renewed = await reach.renew()
  if (renewed !== 'renewed') return readRefusal({ id, platform: reach.platform.id, used }, renewed, answer.failure)
  const again = await ask(gateway, organisationId, id)
  return 'value' in again.answer
    ? { shown: again.answer.value }
    : readRefusal(
        { id, platform: reach.platform.id, used: again.used },
        again.answer.failure.code,
        again.answer.failure,
      )
}

function readRefusal(
  { id, platform, used }: { id: string; platform: string; used: string },
  code: ErrorCode,
  { platformMessage }: Failure,
): Verified {
  const flagged = connectionAfter(code)
  if (flagged) return { flagged, code, message: platformMessage ?? code, used }
  throw platformProblem('platform_unavailable', 'The platform does not answer; nothing was changed. Try again.', {
    platform,
    connectionId: id,
    platformMessage,
  })
}

async function ask(gateway: Gateway, organisationId: string, id: string) {
  const account = await findStoredAccount(gateway.database, organisationId, id)
  if (!account) throw notFound()
  const { sealed: used } = account
  const reach = used ? reachAccount(gateway, { ...account, sealed: used }) : null
  if (!reach || !used)
    throw platformProblem(
      'connection_unavailable',
      'This connection has no credentials any more; connect the account again.',
      { platform: account.platform, connectionId: id },
    )
  return { reach, used, answer: await settleCall(() => reach.platform.verify(reach.credentials, reach.http())) }
}

/** Writes down what the platform said and answers the connection as it is now. */
export async function recordVerified(
  sql: Sql,
  organisationId: string,
  id: string,
  verified: Verified,
): Promise<Connection> {
  if ('shown' in verified) await refreshShown(sql, id, verified.shown)
  else await flagConnection(sql, id, { ...verified, status: verified.flagged })
  const connection = await findConnection(sql, organisationId, id)
  if (!connection) throw notFound()
  return connection
}
