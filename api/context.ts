import type { Config } from '../src/config.js'
import type { Crash } from '../src/crash-points.js'
import type { Database } from '../src/db/client.js'
import type { Log } from '../src/log.js'
import type { OnlyOnce } from './http/idempotency.js'
import type { RateLimiter } from './http/rate-limit.js'
import type { RequestMeter } from '../src/operations/meters.js'
import type { Readiness } from '../src/operations/readiness.js'
import type { UrlSigner } from '../src/relay/media/signed-url.js'
import type { BlobStore } from '../src/storage/blob-store.js'
import type { Gateway } from '../src/relay/connections/reach-account.js'

/** What every request of this process may use. */
export interface ApiContext {
  config: Config
  database: Database
  /** The sandbox's own connection: it plays a platform, so it commits by itself. */
  sandboxDatabase: Database
  gateway: Gateway
  blobs: BlobStore
  signer: UrlSigner
  rateLimiter: RateLimiter
  onlyOnce: OnlyOnce
  relayLoop: { nudge(): void }
  readiness: Readiness
  requests: RequestMeter
  crash: Crash
  log: Log
}
