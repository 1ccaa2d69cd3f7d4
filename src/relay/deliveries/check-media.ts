import { isAddress } from '../media/assets.js'
import { replaceWarnings } from '../media/fetches.js'
import { nameAdaptations } from '../posts/project-targets.js'
import type { Obstacle } from '../posts/projection.js'
import type { RunView } from './ledger.js'
import { projectRun, type Publisher } from './publisher.js'
import type { Warning } from './schema.js'

/** Once media by address were fetched, the delivery is projected again: what that changed replaces the guess in its warnings. */
export async function noteFetched(publisher: Publisher, view: RunView): Promise<void> {
  if (!view.media.some(({ ref }) => isAddress(ref)) || !publisher.platforms.has(view.platform)) return
  const { adaptations } = projectRun(publisher, view)
  const named = nameAdaptations(adaptations, { platform: view.platform, id: view.connection.id })
  const known = view.warnings.filter(({ code }) => code !== 'media_unverified')
  const news = named.filter((warning) => !known.some((other) => sameWarning(other, warning)))
  if (news.length > 0 || known.length < view.warnings.length)
    await replaceWarnings(publisher.database, view, [...known, ...news])
}

const sameWarning = (one: Warning, other: Warning) => one.code === other.code && one.path === other.path

/** Why a delivery that was accepted cannot go out as it is now: its media could not be fetched, are gone, or are not what they seemed. */
export function findObstacle(publisher: Publisher, view: RunView): Obstacle | null {
  if (view.media.length === 0) return null
  const { obstacles, adaptations } = projectRun(publisher, view)
  if (obstacles[0] || view.validation === 'lenient') return obstacles[0] ?? null
  const [first] = adaptations
  return first ? { ...first, code: 'media_rejected' } : null
}
