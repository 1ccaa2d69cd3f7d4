import type { Config, Pace } from '../../config.js'
import type { Crash } from '../../crash-points.js'
import type { ErrorCode } from '../../errors.js'
import type { Log } from '../../log.js'
import type { BlobStore } from '../../storage/blob-store.js'
import type { AttemptMeter } from '../../operations/meters.js'
import { reachAccount, type Gateway, type Reach } from '../connections/reach-account.js'
import { withLimits } from '../platforms/platform.js'
import { toAssets } from '../media/assets.js'
import { resolveContent } from '../posts/content.js'
import { project, type Projected } from '../posts/projection.js'
import type { CallSlots } from './call-slots.js'
import type { RunView } from './ledger.js'

/** What publishing needs of its process. */
export interface Publisher extends Gateway {
  blobs: BlobStore
  media: Pick<Config['media'], 'fetchTimeoutMs'>
  pace: Pace
  gates: Config['gates']
  slots: CallSlots
  crash: Crash
  attempts: AttemptMeter
  log: Log
}

/** Where a run stands after one step: done, to be asked again when it is due, or to be tried again. */
export type PublishStep = { kind: 'settled' } | { kind: 'wait'; waitMs: number } | RetryStep

/** To be tried again; `why` in words for who looks at the run, the code where there are none. */
export interface RetryStep {
  kind: 'retry'
  inMs: number
  code: ErrorCode | null
  why?: string
}

/** Opens the way to a delivery's account; null when there is none any more: connection switched off or erased, platform not offered here.
 *  A look-up only asks, so a connection that takes no more posts will do. */
export function reachDestination(publisher: Publisher, view: RunView, { lookUp = false } = {}): Reach | null {
  const { id: connectionId, status, credentials: sealed } = view.connection
  if ((status !== 'active' && !lookUp) || !sealed) return null
  return reachAccount(publisher, {
    organisationId: view.organisation_id,
    connectionId,
    platform: view.platform,
    sealed,
  })
}

/** What the delivery's destination gets of its post; throws where the platform is not offered here, which `reachDestination` tells first. */
export function projectRun({ platforms }: Publisher, view: RunView): Projected {
  const { platform: id, content, overrides, connection, media } = view
  const platform = platforms.get(id)
  if (!platform) throw new Error(`The platform ${id} is not offered here`)
  return project(withLimits(platform, connection.limits), resolveContent(content, overrides), toAssets(media))
}
