import type { Caller } from '../../accounts/schema.js'
import { requireQuota } from '../../accounts/usage.js'
import type { Transaction } from '../../db/client.js'
import { invalid, invalidState } from '../../errors.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import { lockDeliveries, type LockedDelivery } from '../deliveries/repository.js'
import { requireSchedule } from './due-time.js'
import { lockPost, makeDue, requeueDeliveries, requirePost, type LockedPost } from './repository.js'
import { allowedActions, type PostAction } from './rules.js'
import type { SchedulePost, Skip } from './schema.js'

interface Locked {
  post: LockedPost
  deliveries: LockedDelivery[]
}

/** Deliveries in id order first, the post after them: the order everybody locks in. Throws 404, and 422 invalid_state with what is possible. */
async function lockFor(tx: Transaction, organisationId: string, postId: string, action: PostAction): Promise<Locked> {
  const deliveries = await lockDeliveries(tx, organisationId, postId)
  const post = await lockPost(tx, organisationId, postId)
  const allowed = allowedActions(post.status)
  if (!allowed.includes(action))
    throw invalidState(`A post that is ${post.status} does not allow "${action}".`, post.status, allowed)
  return { post, deliveries }
}

const skipOf = ({ id, platform, status }: LockedDelivery, reason: string): Skip => ({
  delivery_id: id,
  platform,
  status,
  reason,
})
const idsOf = (deliveries: LockedDelivery[]) => deliveries.map(({ id }) => id)
const ofStatus = (deliveries: LockedDelivery[], status: LockedDelivery['status']) =>
  deliveries.filter((delivery) => delivery.status === status)

function requirePending(deliveries: LockedDelivery[]): LockedDelivery[] {
  const pending = ofStatus(deliveries, 'pending')
  if (pending.length > 0) return pending
  throw invalid([{ path: '', message: 'This post has no destination that is still pending.' }], 'no_target')
}

/** Releases a draft or a scheduled post now. What was refused at acceptance stays refused, and is told of now. */
export async function publishPost(tx: Transaction, caller: Caller, postId: string) {
  const { post, deliveries } = await lockFor(tx, caller.organisationId, postId, 'publish')
  const pending = requirePending(deliveries)
  await makeDue(tx, postId, { scheduledAt: null, timezone: post.timezone })
  // Wakes a run inside its delay, starts the one that a draft never had.
  await enqueueDeliveries(tx, 'poke_delivery', idsOf(pending))
  await requireQuota(tx, caller, postId)
  const skipped = deliveries
    .filter(({ status }) => status !== 'pending')
    .map((delivery) => skipOf(delivery, `is ${delivery.status}`))
  return { ...(await requirePost(tx, caller.organisationId, postId)), queued: idsOf(pending), skipped }
}

/** Sets or moves the time of a draft or scheduled post; what is being published already is left as it is and listed. */
export async function schedulePost(tx: Transaction, caller: Caller, postId: string, body: SchedulePost) {
  const { notice, ...time } = await requireSchedule(tx, body, caller.timezone)
  const { post, deliveries } = await lockFor(tx, caller.organisationId, postId, 'schedule')
  // Half of a thread is out: the rest follows when it can.
  const begun = ({ status, parts_taken }: LockedDelivery) => status === 'pending' && parts_taken > 0
  const busy = deliveries.filter((delivery) => delivery.status === 'processing' || begun(delivery))
  const rest = deliveries.filter((delivery) => !begun(delivery))
  const pending = busy.length > 0 ? ofStatus(rest, 'pending') : requirePending(rest)
  const due = time.scheduledAt
  const asleep = pending.filter(({ due_at, waits }) => waits || due_at === null || due === null || due < due_at)
  await makeDue(tx, postId, time)
  // A draft's runs begin here; one that waits for its time wakes by itself for a later one, and must be woken for an earlier one.
  if (asleep.length > 0)
    await enqueueDeliveries(tx, post.status === 'draft' ? 'start_delivery' : 'poke_delivery', idsOf(asleep))
  await requireQuota(tx, caller, postId)
  const skipped = busy.map((delivery) => skipOf(delivery, 'is being published'))
  return { ...(await requirePost(tx, caller.organisationId, postId)), schedule_notice: notice, skipped }
}

/** Sends failed deliveries again; what may have landed is not among them, and what was rejected never is. */
export async function retryPost(tx: Transaction, { organisationId }: Caller, postId: string) {
  const { deliveries } = await lockFor(tx, organisationId, postId, 'retry')
  const again = ofStatus(deliveries, 'failed').filter(({ error_code }) => error_code !== 'publish_indeterminate')
  if (again.length > 0) await requeueAgain(tx, postId, idsOf(again))
  const skipped = deliveries
    .filter((delivery) => !again.includes(delivery) && (delivery.status === 'failed' || delivery.status === 'rejected'))
    .map((delivery) =>
      skipOf(delivery, delivery.status === 'rejected' ? 'was rejected' : 'may have landed: publish_indeterminate'),
    )
  return { ...(await requirePost(tx, organisationId, postId)), requeued: idsOf(again), skipped }
}

/** A new run (generation + 1) for deliveries of a post that were settled. */
export async function requeueAgain(tx: Transaction, postId: string, deliveryIds: string[]): Promise<void> {
  await requeueDeliveries(tx, postId, deliveryIds)
  await enqueueDeliveries(tx, 'start_delivery', deliveryIds)
}
