import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { AppError } from '../../errors.js'
import type { Warning } from '../deliveries/schema.js'
import type { Platforms } from '../platforms/index.js'
import { withLimits, type Limits, type Platform } from '../platforms/platform.js'
import { resolveContent, type Content, type Override, type ResolvedContent } from './content.js'
import { project, type Obstacle, type Projected } from './projection.js'
import type { Aim } from './schema.js'
import type { Target } from './targets.js'

/** A target with what it would get. */
export interface ProjectedTarget extends Target, Omit<Projected, 'adaptations'> {
  adaptations: Warning[]
  /** SHA-256 of the content as it is for this target. */
  contentHash: Buffer
}

/** Makes of a content what each target gets of it. Throws 409 for a target whose platform is not offered here. */
export function projectTargets(
  platforms: Platforms,
  { content, overrides }: { content: Content; overrides: Record<string, Override> },
  targets: Target[],
): ProjectedTarget[] {
  const projectOnce = projector()
  return targets.map((target) => {
    const { id, platform: platformId } = target
    const platform = platforms.get(platformId)
    if (!platform)
      throw new AppError('connection_unavailable', `The destination ${platformId} is not offered here.`, {
        connection_id: id,
        platform: platformId,
      })
    const resolved = resolveContent(content, [overrides[platformId], target.overrides])
    const { adaptations, ...projected } = projectOnce(platform, target.limits, resolved)
    const named = adaptations.map((adaptation) => ({ ...adaptation, platform: platformId, connection_id: id }))
    return { ...target, ...projected, adaptations: named }
  })
}

/** Projects equal contents once per platform, however many of its accounts are meant. */
function projector() {
  const known = new Map<string, Projected & { contentHash: Buffer }>()
  return (platform: Platform, limits: Limits, content: ResolvedContent) => {
    const contentHash = createHash('sha256')
      .update(canonicalize(content) ?? '')
      .digest()
    const key = `${platform.id} ${JSON.stringify(limits)} ${contentHash.toString('hex')}`
    const projected = known.get(key) ?? { ...project(withLimits(platform, limits), content), contentHash }
    known.set(key, projected)
    return projected
  }
}

/** Why a target is refused: what it cannot take however adapted; in strict mode also what it would only take adapted. */
export function refusalsOf({ obstacles, adaptations }: ProjectedTarget, validation: Aim['validation']): Obstacle[] {
  if (validation === 'lenient') return obstacles
  const strict = adaptations.map(({ path, message, limit, received }) => ({ path, message, limit, received }))
  return [...obstacles, ...strict.map((refusal) => ({ code: 'validation_failed' as const, ...refusal }))]
}
