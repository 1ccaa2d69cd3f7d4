import type { Platform } from '../platforms/platform.js'
import { findExcess, truncate } from './fit-text.js'
import type { Adaptation } from './projection.js'

/** A title for a platform that has them, shortened where it must be. */
export function fitTitle(
  platform: Platform,
  title: string | null,
  path: string,
): { title: string | null; adaptations: Adaptation[] } {
  const { accepts, name } = platform
  if (title === null) return { title, adaptations: [] }
  const at = `${path}.title`
  if (!accepts.title) {
    const message = `${name} has no titles`
    return {
      title: null,
      adaptations: [{ code: 'title_dropped', path: at, message, limit: null, received: null, unit: null }],
    }
  }
  const { title: limit } = accepts
  const excess = findExcess(platform, limit, title)
  if (!excess) return { title, adaptations: [] }
  const message = `${name} takes titles of ${excess.limit} ${excess.unit} at the most; this has ${excess.received}`
  const cut = truncate((text) => findExcess(platform, limit, text) === null, title)
  return { title: cut, adaptations: [{ code: 'text_truncated', path: at, message, ...excess }] }
}
