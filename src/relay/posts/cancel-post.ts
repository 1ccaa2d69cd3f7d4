import type { Transaction } from '../../db/client.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import { cancelPending, lockDeliveries } from '../deliveries/repository.js'
import { lockPost, requirePost, rollUpPost, withdrawPost } from './repository.js'
import { isUnreleased } from './rules.js'
import type { CancelledPost } from './schema.js'

/** Cancels the pending deliveries of a post and says which it came too late for. A post of which nothing ever left is cancelled whole, whatever was
 *  refused at its acceptance. Throws 404. */
export async function cancelPost(tx: Transaction, organisationId: string, postId: string): Promise<CancelledPost> {
  const deliveries = await lockDeliveries(tx, organisationId, postId)
  const { status } = await lockPost(tx, organisationId, postId)
  const cancelled = (await cancelPending(tx, organisationId, { postId })).map(({ id }) => id)
  if (cancelled.length > 0) await enqueueDeliveries(tx, 'cancel_delivery', cancelled)
  if (isUnreleased(status) && deliveries.every(({ started_at }) => started_at === null)) await withdrawPost(tx, postId)
  else if (cancelled.length > 0) await rollUpPost(tx, postId)
  const post = await requirePost(tx, organisationId, postId)
  const kept = post.deliveries
    .filter(({ status }) => status !== 'cancelled')
    .map(({ id, platform, status }) => ({ delivery_id: id, platform, status }))
  return { ...post, cancelled, kept }
}

/** What becomes of a post when some of its deliveries were cancelled with their account: a draft stays one, a scheduled post of which nothing is left is
 *  cancelled, and of neither anything is told; one that was released adds up. */
export async function settleRest(tx: Transaction, organisationId: string, postId: string): Promise<void> {
  const { status } = await lockPost(tx, organisationId, postId)
  if (!isUnreleased(status)) return rollUpPost(tx, postId)
  const { deliveries } = await requirePost(tx, organisationId, postId)
  if (deliveries.some(({ started_at }) => started_at !== null)) return rollUpPost(tx, postId)
  if (status !== 'draft' && deliveries.every((delivery) => delivery.status !== 'pending'))
    await withdrawPost(tx, postId)
}
