import type { Transaction } from '../../db/client.js'
import { invalid, invalidState, notFound } from '../../errors.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import { lockDeliveries, type LockedDelivery } from '../deliveries/repository.js'
import { findPost, lockPost, releasePost, requeueDeliveries, schedulePending } from './repository.js'
import { allowedActions, readDueTime, type PostAction } from './rules.js'
import type { Post, PostStatus, Skip } from './schema.js'

interface Locked {
  status: PostStatus
  deliveries: LockedDelivery[]
}

/** Deliveries in id order first, the post after them: the order everybody locks in. Throws 404, and 422 invalid_state with what is possible. */
async function lockFor(tx: Transaction, organisationId: string, postId: string, action: PostAction): Promise<Locked> {
  const deliveries = await lockDeliveries(tx, organisationId, postId)
  const status = await lockPost(tx, organisationId, postId)
  if (!status) throw notFound()
  const allowed = allowedActions(status)
  if (!allowed.includes(action))
    throw invalidState(`A post that is ${status} does not allow "${action}".`, status, allowed)
  return { status, deliveries }
}

async function answer(tx: Transaction, organisationId: string, postId: string): Promise<Post> {
  const post = await findPost(tx, organisationId, postId)
  if (!post) throw notFound()
  return post
}

const skipOf = ({ id, platform, status }: LockedDelivery, reason: string): Skip => ({
  delivery_id: id,
  platform,
  status,
  reason,
})
const idsOf = (deliveries: LockedDelivery[]) => deliveries.map(({ id }) => id)
const pendingOf = (deliveries: LockedDelivery[]) => deliveries.filter(({ status }) => status === 'pending')

/** Releases a draft or a scheduled post now. What was refused at acceptance stays refused. */
export async function publishPost(tx: Transaction, organisationId: string, postId: string) {
  const { deliveries } = await lockFor(tx, organisationId, postId, 'publish')
  const pending = pendingOf(deliveries)
  if (pending.length === 0)
    throw invalid([{ path: '', message: 'This post has no destination that is still pending.' }], 'no_target')
  await releasePost(tx, postId)
  // Wakes a run inside its delay, starts the one that a draft never had.
  await enqueueDeliveries(tx, 'poke_delivery', idsOf(pending))
  const skipped = deliveries
    .filter(({ status }) => status !== 'pending')
    .map((delivery) => skipOf(delivery, `is ${delivery.status}`))
  return { ...(await answer(tx, organisationId, postId)), queued: idsOf(pending), skipped }
}

/** Sets or moves the time of a draft or scheduled post; what is being published already is left as it is and listed. */
export async function schedulePost(tx: Transaction, organisationId: string, postId: string, scheduledAt: string) {
  const time = readDueTime(scheduledAt, new Date())
  if ('problem' in time) throw invalid([{ path: 'scheduled_at', message: time.problem }])
  const { status, deliveries } = await lockFor(tx, organisationId, postId, 'schedule')
  const due = time.due ?? new Date()
  const pending = pendingOf(deliveries)
  const earlier = pending.filter(({ due_at }) => due_at === null || due < due_at)
  await schedulePending(tx, postId, due)
  // A draft's runs begin here; one that waits wakes by itself at a later time, and must be woken for an earlier one.
  if (earlier.length > 0)
    await enqueueDeliveries(tx, status === 'draft' ? 'start_delivery' : 'poke_delivery', idsOf(earlier))
  const skipped = deliveries
    .filter(({ status }) => status === 'processing')
    .map((delivery) => skipOf(delivery, 'is being published'))
  return { ...(await answer(tx, organisationId, postId)), schedule_notice: null, skipped }
}

/** Sends failed deliveries again; what may have landed is not among them, and what was rejected never is. */
export async function retryPost(tx: Transaction, organisationId: string, postId: string) {
  const { deliveries } = await lockFor(tx, organisationId, postId, 'retry')
  const again = deliveries.filter(
    ({ status, error_code }) => status === 'failed' && error_code !== 'publish_indeterminate',
  )
  if (again.length > 0) await requeueAgain(tx, postId, idsOf(again))
  const skipped = deliveries
    .filter((delivery) => !again.includes(delivery) && (delivery.status === 'failed' || delivery.status === 'rejected'))
    .map((delivery) =>
      skipOf(delivery, delivery.status === 'rejected' ? 'was rejected' : 'may have landed: publish_indeterminate'),
    )
  return { ...(await answer(tx, organisationId, postId)), requeued: idsOf(again), skipped }
}

/** A new run (generation + 1) for deliveries of a post that were settled. */
export async function requeueAgain(tx: Transaction, postId: string, deliveryIds: string[]): Promise<void> {
  await requeueDeliveries(tx, postId, deliveryIds)
  await enqueueDeliveries(tx, 'start_delivery', deliveryIds)
}
