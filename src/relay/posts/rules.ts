import { isSettled } from '../deliveries/rules.js'
import type { DeliveryStatus } from '../deliveries/schema.js'
import type { PostStatus } from './schema.js'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** How far ahead a post may be scheduled. */
const FURTHEST_DAYS = 730

/** Whether a post may be due then: null is now, which a time up to a minute past also means. Answers why a time cannot be used instead of throwing. */
export function judgeDueTime(due: Date, now: Date): { due: Date | null } | { problem: string } {
  const aheadMs = due.getTime() - now.getTime()
  if (aheadMs < -MINUTE_MS) return { problem: 'is more than a minute past; leave it out to publish now' }
  if (aheadMs > FURTHEST_DAYS * DAY_MS) return { problem: `is more than ${FURTHEST_DAYS} days ahead` }
  return { due: aheadMs > 0 ? due : null }
}

/** What a caller may ask of a post, named as its route is. */
export type PostAction = 'publish' | 'schedule' | 'retry' | 'delete'

const ACTIONS: Record<PostStatus, readonly PostAction[]> = {
  draft: ['publish', 'schedule', 'retry', 'delete'],
  scheduled: ['publish', 'schedule', 'retry', 'delete'],
  pending_approval: ['retry', 'delete'],
  queued: ['schedule', 'retry', 'delete'],
  publishing: ['schedule', 'retry', 'delete'],
  published: ['retry', 'delete'],
  partial: ['retry', 'delete'],
  failed: ['retry', 'delete'],
  cancelled: ['retry', 'delete'],
}

/** What a status allows. Retrying and cancelling are always allowed: with nothing to do they do nothing and say so. */
export function allowedActions(status: PostStatus): readonly PostAction[] {
  return ACTIONS[status]
}

/** Whether nothing of a post may have left yet. */
export function isUnreleased(status: PostStatus): boolean {
  return status === 'draft' || status === 'pending_approval' || status === 'scheduled'
}

/** How a post ends. */
export type SettledStatus = Extract<PostStatus, 'published' | 'partial' | 'failed' | 'cancelled'>

/** The status of a post once all its deliveries are final; null while one is not (shapes.md 2, Roll-up: skipped ones are ignored). */
export function rollUp(deliveries: readonly DeliveryStatus[]): SettledStatus | null {
  if (!deliveries.every(isSettled)) return null
  const count = (...of: DeliveryStatus[]) => deliveries.filter((status) => of.includes(status)).length
  const succeeded = count('succeeded')
  const failed = count('failed', 'rejected')
  const cancelled = count('cancelled')
  if (succeeded > 0) return failed + cancelled > 0 ? 'partial' : 'published'
  return failed === 0 && cancelled > 0 ? 'cancelled' : 'failed'
}
