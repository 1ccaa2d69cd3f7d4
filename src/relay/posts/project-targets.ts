import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { platformProblem } from '../../errors.js'
import type { Warning } from '../deliveries/schema.js'
import { NO_ASSETS, type Assets } from '../media/assets.js'
import type { Platforms } from '../platforms/index.js'
import { withLimits, type Limits, type Platform } from '../platforms/platform.js'
import { resolveContent, type Content, type Override, type ResolvedContent } from './content.js'
import { project, type Adaptation, type Obstacle, type Projected } from './projection.js'
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
  {
    content,
    overrides,
    assets = NO_ASSETS,
  }: { content: Content; overrides: Record<string, Override>; assets?: Assets },
  targets: Target[],
): ProjectedTarget[] {
  const projectOnce = projector(assets)
  return targets.map((target) => {
    const { id, platform: platformId } = target
    const platform = platforms.get(platformId)
    if (!platform)
      throw platformProblem('connection_unavailable', `The destination ${platformId} is not offered here.`, {
        platform: platformId,
        connectionId: id,
      })
    const resolved = resolveContent(content, [overrides[platformId], target.overrides])
    const { adaptations, ...projected } = projectOnce(platform, target.limits, resolved)
    const named = nameAdaptations(adaptations, { platform: platformId, id })
    return { ...target, ...projected, adaptations: named }
  })
}

/** Adaptations as warnings of one delivery. */
export function nameAdaptations(
  adaptations: Adaptation[],
  { platform, id: connection_id }: { platform: string; id: string },
): Warning[] {
  return adaptations.map((adaptation) => ({ ...adaptation, platform, connection_id }))
}

/** That a target's media were not looked at yet. */
export function unverifiedWarnings({ unverified, platform, id }: ProjectedTarget): Warning[] {
  const message = 'This address is fetched before the post goes out; its type is assumed and its size was not checked.'
  return unverified.map(({ path }) => ({
    code: 'media_unverified',
    message,
    path,
    platform,
    connection_id: id,
    limit: null,
    received: null,
    unit: null,
  }))
}

/** Projects equal contents once per platform, however many of its accounts are meant. */
function projector(assets: Assets) {
  const known = new Map<string, Projected & { contentHash: Buffer }>()
  return (platform: Platform, limits: Limits, content: ResolvedContent) => {
    const contentHash = createHash('sha256')
      .update(canonicalize(content) ?? '')
      .digest()
    const key = `${platform.id} ${JSON.stringify(limits)} ${contentHash.toString('hex')}`
    const projected = known.get(key) ?? { ...project(withLimits(platform, limits), content, assets), contentHash }
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
