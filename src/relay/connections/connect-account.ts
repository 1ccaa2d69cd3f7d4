import type { Dispatcher } from 'undici'
import { AppError, invalid, notFound } from '../../errors.js'
import { parseInput } from '../../validation.js'
import { createPlatformHttp, settleCall } from '../platforms/http.js'
import type { Platforms } from '../platforms/index.js'
import type { Account } from '../platforms/platform.js'

/** What connecting needs of its process. */
export interface Connector {
  platforms: Platforms
  client: Dispatcher
  callTimeoutMs: number
}

/** Asks the platform who the account is. Repeatable; writes nothing. Throws 404 for an unknown platform, 422 for fields it does not take
 *  or credentials it refuses, 503 when it does not answer. */
export async function connectAccount(
  { platforms, client, callTimeoutMs }: Connector,
  request: { organisationId: string; platform: string; fields: Record<string, unknown> },
): Promise<Account> {
  const platform = platforms.get(request.platform)
  if (!platform) throw notFound()
  const fields = parseInput(platform.auth.fields, request.fields, ['fields'])
  const { origin } = platform.entry(fields)
  const http = createPlatformHttp({ origin, refusals: platform.refusals, client, timeoutMs: callTimeoutMs })
  const answer = await settleCall(() => platform.connect({ fields, organisationId: request.organisationId }, http))
  if ('value' in answer) return answer.value
  const { certainty, platformMessage } = answer.failure
  if (certainty === 'refused')
    throw invalid([{ path: 'fields', message: `${platform.name} refused: ${platformMessage}` }])
  throw new AppError('platform_unavailable', `${platform.name} does not answer; nothing was connected. Try again.`, {
    platform: platform.id,
    platform_message: platformMessage,
  })
}
