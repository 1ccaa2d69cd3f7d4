import type { Transaction } from '../../db/client.js'
import { notFound } from '../../errors.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import { cancelPending } from '../deliveries/repository.js'
import { findPost, rollUpPost } from './repository.js'
import type { CancelledPost } from './schema.js'

/** Cancels the pending deliveries of a post and says which it came too late for. Throws 404. */
export async function cancelPost(tx: Transaction, organisationId: string, postId: string): Promise<CancelledPost> {
  const cancelled = (await cancelPending(tx, organisationId, { postId })).map(({ id }) => id)
  if (cancelled.length > 0) {
    await enqueueDeliveries(tx, 'cancel_delivery', cancelled)
    await rollUpPost(tx, postId)
  }
  const post = await findPost(tx, organisationId, postId)
  if (!post) throw notFound()
  const kept = post.deliveries
    .filter(({ status }) => status !== 'cancelled')
    .map(({ id, platform, status }) => ({ delivery_id: id, platform, status }))
  return { ...post, cancelled, kept }
}
