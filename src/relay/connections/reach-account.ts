import type { Database } from '../../db/client.js'
import type { Config } from '../../config.js'
import { createClients, type Clients } from '../../egress/clients.js'
import type { KeyEncryptionKey } from '../../encryption.js'
import type { Log } from '../../log.js'
import { ERRORS, type ErrorCode } from '../../errors.js'
import { createPlatformHttp, settleCall, type PlatformHttp } from '../platforms/http.js'
import { createPlatforms, type Platforms } from '../platforms/index.js'
import type { Credentials, Platform } from '../platforms/platform.js'
import { createLimitBook, limitScope } from './limits.js'
import { openCredentials, renewCredentials } from './repository.js'

/** What reaching accounts needs of its process. */
export interface Gateway {
  database: Database
  platforms: Platforms
  clients: Clients
  keys: readonly KeyEncryptionKey[]
  callTimeoutMs: number
  /** Connections for renewals alone: each is held over a call. */
  renewals: Database
  /** The renewals under way in this process, by connection: whoever comes meanwhile shares the result. */
  renewing: Map<string, Promise<'renewed' | ErrorCode>>
  /** Keeps that nothing may be called in a scope for so many milliseconds. */
  learnLimit(scope: string, ms: number): void
}

/** The gateway of a process. `renewals` is a pool of its own. */
export function createGateway({
  config,
  log,
  ...pools
}: {
  config: Config
  log: Log
  database: Database
  renewals: Database
}): Gateway {
  return {
    ...pools,
    platforms: createPlatforms(config),
    clients: createClients(config),
    keys: config.keyEncryptionKeys,
    callTimeoutMs: config.pace.callTimeoutMs,
    renewing: new Map(),
    learnLimit: createLimitBook(pools.database, log),
  }
}

/** A connection as its row holds it: credentials still sealed. */
export interface StoredAccount {
  organisationId: string
  connectionId: string
  platform: string
  sealed: string
}

/** A platform and an account there, able to make calls. */
export interface Reach {
  platform: Platform
  credentials: Credentials
  http(beforePublish?: () => Promise<void>): PlatformHttp
  /** Trades a lapsed token for a new one. `renewed` also when somebody else did so meanwhile, else the code the platform refused with;
   *  `platform_unavailable`: it could not be asked now. */
  renew(): Promise<'renewed' | ErrorCode>
}

/** Opens the way to a stored account; null when its platform is not offered here. */
export function reachAccount(gateway: Gateway, account: StoredAccount): Reach | null {
  const platform = gateway.platforms.get(account.platform)
  if (!platform) return null
  const credentials = openCredentials(account.sealed, { ...account, keys: gateway.keys })
  return {
    platform,
    credentials,
    http: (beforePublish) =>
      bindAccount(gateway, { platform, connectionId: account.connectionId, credentials, beforePublish }),
    renew: () => shareRenewal(gateway, platform, account),
  }
}

interface Bound {
  platform: Platform
  connectionId: string
  credentials: Credentials
  beforePublish?: (() => Promise<void>) | undefined
}

function bindAccount(
  { clients, callTimeoutMs, learnLimit }: Gateway,
  { platform, connectionId, credentials, beforePublish }: Bound,
): PlatformHttp {
  const { origin, headers, inner } = platform.reach(credentials)
  const client = inner ? clients.inner : clients.egress
  return createPlatformHttp({
    origin,
    headers,
    refusals: platform.refusals,
    client,
    timeoutMs: callTimeoutMs,
    beforePublish,
    // What asks and renews has limits of its own.
    onLimit: beforePublish && ((ms) => learnLimit(limitScope(platform, connectionId), ms)),
  })
}

function shareRenewal(gateway: Gateway, platform: Platform, account: StoredAccount): Promise<'renewed' | ErrorCode> {
  const { renewing } = gateway
  const underWay = renewing.get(account.connectionId)
  if (underWay) return underWay
  const mine = renewToken(gateway, platform, account).finally(() => renewing.delete(account.connectionId))
  renewing.set(account.connectionId, mine)
  return mine
}

async function renewToken(
  gateway: Gateway,
  platform: Platform,
  account: StoredAccount,
): Promise<'renewed' | ErrorCode> {
  const { refresh } = platform
  if (!refresh) return 'auth_expired'
  const { connectionId, sealed: used } = account
  const answer = await settleCall(() =>
    renewCredentials(gateway.renewals, { connectionId, used, keys: gateway.keys }, (credentials) =>
      refresh(credentials, bindAccount(gateway, { platform, connectionId, credentials })),
    ),
  )
  if ('value' in answer) return 'renewed'
  const { certainty, code } = answer.failure
  return certainty === 'refused' && ERRORS[code].retry !== 'backoff' ? code : 'platform_unavailable'
}
