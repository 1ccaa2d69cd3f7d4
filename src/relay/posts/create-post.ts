import type { Caller } from '../../accounts/schema.js'
import { requireQuota } from '../../accounts/usage.js'
import type { Transaction } from '../../db/client.js'
import { invalid } from '../../errors.js'
import { newId } from '../../ids.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import { together } from '../../together.js'
import { recordPostEvent } from '../events/repository.js'
import { insertPostMedia, requireAssets } from '../media/assets.js'
import type { Platforms } from '../platforms/index.js'
import { hasSubstance, refsOf } from './content.js'
import { requireSchedule } from './due-time.js'
import { guardDuplicates } from './duplicate-guard.js'
import { projectTargets, refusalsOf, unverifiedWarnings, type ProjectedTarget } from './project-targets.js'
import type { Obstacle } from './projection.js'
import { addWarnings, insertPost, requirePost, tellRefusals, type NewDelivery } from './repository.js'
import type { AcceptedPost, CreatePost } from './schema.js'
import { findTargets } from './targets.js'

/** Accepts a post: rows, events and outbox lines in the caller's transaction, one delivery per target. Throws 404 for a connection the organisation does
 *  not have, 409 for one that is switched off, 422 for a time that cannot be used and for a content that no target takes; in strict mode for one that
 *  any target would only take adapted, and 409 for one that went out lately (shapes.md 2); 429 beyond the plan's month. */
export async function createPost(
  tx: Transaction,
  { caller, platforms }: { caller: Caller; platforms: Platforms },
  body: CreatePost,
): Promise<AcceptedPost> {
  const { organisationId } = caller
  const refs = refsOf([
    body.content,
    ...Object.values(body.overrides),
    ...body.targets.map(({ overrides }) => overrides),
  ])
  const [{ notice, ...time }, { targets, warnings }, assets] = await together([
    requireSchedule(tx, body, caller.timezone),
    findTargets(tx, { organisationId, platforms }, body),
    requireAssets(tx, organisationId, { refs, lock: true }),
  ])
  const projected = projectTargets(platforms, { ...body, assets }, targets)
  refuse(body, projected)

  const id = newId('post')
  const deliveries = projected.map((target) => newDelivery(target, body))
  // Sent one behind the other without waiting in between: they take one round trip.
  const [repeated] = await together([
    guardDuplicates(tx, { organisationId, postId: id }, projected, body),
    insertPost(tx, caller, { ...body, ...time, id, warnings }, deliveries),
    insertPostMedia(tx, id, refs),
    recordPostEvent(tx, 'post.created', id),
    !body.draft && enqueueDeliveries(tx, 'start_delivery', idsOf(deliveries, { refused: false })),
    !body.draft && !time.scheduledAt && idsOf(deliveries, { refused: true }).length > 0 && tellRefusals(tx, id),
    !body.draft && requireQuota(tx, caller, id),
  ])
  if (repeated.length > 0) await addWarnings(tx, id, repeated)
  return { ...(await requirePost(tx, organisationId, id)), schedule_notice: notice }
}

const idsOf = (deliveries: NewDelivery[], { refused }: { refused: boolean }) =>
  deliveries.filter(({ refusal }) => (refusal !== null) === refused).map(({ id }) => id)

function newDelivery(target: ProjectedTarget, { validation }: CreatePost): NewDelivery {
  const { id: connectionId, platform, handle, overrides, contentHash, warnings, adaptations } = target
  const [refusal = null] = refusalsOf(target, validation)
  return {
    id: newId('dlv'),
    connectionId,
    platform,
    handle,
    overrides,
    contentHash,
    warnings: [...warnings, ...adaptations, ...unverifiedWarnings(target)],
    refusal,
  }
}

/** Strict: every target must take it as it is. Lenient: one must take it somehow. A draft may wait for both, and for its targets. */
function refuse(body: CreatePost, targets: ProjectedTarget[]): void {
  const { content, draft, validation } = body
  if (!draft && targets.length === 0)
    throw invalid(
      [
        {
          path: 'targets',
          message: 'no connection is left to publish to; name one in targets, connection_ids or platforms',
        },
      ],
      'no_target',
    )
  if (!draft && !hasSubstance(content))
    throw invalid([{ path: 'content', message: 'needs a text, a title, a link or media' }])
  const refused = targets
    .map((target) => ({ target, refusals: refusalsOf(target, validation) }))
    .filter(({ refusals }) => refusals.length > 0)
  const whole = validation === 'strict' ? refused.length > 0 : refused.length === targets.length && !draft
  if (whole && refused.length > 0)
    throw invalid(refused.flatMap(({ target, refusals }) => refusals.map((refusal) => toProblem(refusal, target))))
}

function toProblem({ path, message, limit, received }: Obstacle, { id, platform }: ProjectedTarget) {
  return {
    path,
    message,
    ...(limit !== null && { limit }),
    ...(received !== null && { received }),
    connection_id: id,
    platform,
  }
}
