import type { Dispatcher } from 'undici'
import type { Pace } from '../../config.js'
import type { Crash } from '../../crash-points.js'
import type { Database } from '../../db/client.js'
import type { KeyEncryptionKey } from '../../encryption.js'
import type { ErrorCode } from '../../errors.js'
import type { Log } from '../../log.js'
import { openCredentials, renewCredentials } from '../connections/repository.js'
import { createPlatformHttp, settleCall, type PlatformHttp } from '../platforms/http.js'
import type { Platforms } from '../platforms/index.js'
import type { Platform } from '../platforms/platform.js'
import type { RunView } from './ledger.js'

/** What publishing needs of its process. */
export interface Publisher {
  database: Database
  platforms: Platforms
  client: Dispatcher
  keys: readonly KeyEncryptionKey[]
  pace: Pace
  crash: Crash
  log: Log
}

/** Where a run stands after one step: done, to be asked again when it is due, or to be tried again. */
export type PublishStep =
  { kind: 'settled' } | { kind: 'wait'; waitMs: number } | { kind: 'retry'; inMs: number; code: ErrorCode | null }

/** The platform and the account a delivery is aimed at, able to make calls. */
export interface Reach {
  platform: Platform
  http(beforePublish?: () => Promise<void>): PlatformHttp
}

/** Opens the way to a delivery's account; null when there is none any more: connection switched off or erased, platform not offered here. */
export function reachAccount(publisher: Publisher, view: RunView): Reach | null {
  const platform = publisher.platforms.get(view.platform)
  const { id: connectionId, status, credentials: sealed } = view.connection
  if (!platform || status !== 'active' || !sealed) return null
  const { keys, client, pace } = publisher
  const credentials = openCredentials(sealed, { organisationId: view.organisation_id, connectionId, keys })
  const { origin, headers } = platform.reach(credentials)
  const binding = { origin, headers, refusals: platform.refusals, client, timeoutMs: pace.callTimeoutMs }
  return {
    platform,
    http: (beforePublish) => createPlatformHttp({ ...binding, ...(beforePublish && { beforePublish }) }),
  }
}

/** Renews a lapsed token. `renewed` also when another worker did so meanwhile; `refused` when it cannot be; `unavailable`: ask later. */
export async function renewToken(
  publisher: Publisher,
  view: RunView,
  { platform }: Reach,
): Promise<'renewed' | 'refused' | 'unavailable'> {
  const { refresh } = platform
  const { id: connectionId, credentials: used } = view.connection
  if (!refresh || !used) return 'refused'
  const { database, keys, client, pace } = publisher
  const answer = await settleCall(() =>
    renewCredentials(database, { connectionId, used, keys }, (credentials) => {
      const { origin, headers } = platform.reach(credentials)
      const http = createPlatformHttp({
        origin,
        headers,
        refusals: platform.refusals,
        client,
        timeoutMs: pace.callTimeoutMs,
      })
      return refresh(credentials, http)
    }),
  )
  if ('value' in answer) return 'renewed'
  return answer.failure.certainty === 'refused' && answer.failure.code !== 'rate_limited' ? 'refused' : 'unavailable'
}
