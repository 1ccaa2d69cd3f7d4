import { z } from 'zod'
import { idPattern } from '../../ids.js'
import { plainText } from '../../validation.js'
import { Delivery, DeliveryStatus, Warning } from '../deliveries/schema.js'

const instant = z.iso.datetime()

export const Content = z.strictObject({
  text: plainText.min(1, 'must not be empty').max(100_000),
})
export type Content = z.infer<typeof Content>

const scheduledAt = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 instant with an offset' })

/** The body of POST /v1/posts, as far as it is built: a field that nothing handles yet is an unknown one. */
export const CreatePost = z.strictObject({
  content: Content,
  connection_ids: z
    .array(z.string().regex(idPattern('conn'), 'must be the id of a connection'))
    .min(1)
    .max(100),
  validation: z.enum(['strict', 'lenient']).default('lenient'),
  scheduled_at: scheduledAt.optional(),
  external_id: plainText.min(1).max(255).optional(),
  draft: z.boolean().default(false),
})
export type CreatePost = z.infer<typeof CreatePost>

export const PostStatus = z.enum([
  'draft',
  'pending_approval',
  'scheduled',
  'queued',
  'publishing',
  'published',
  'partial',
  'failed',
  'cancelled',
])
export type PostStatus = z.infer<typeof PostStatus>

const postFields = {
  id: z.string(),
  status: PostStatus,
  external_id: z.string().nullable(),
  source: z.string(),
  content: Content,
  overrides: z.record(z.string(), z.unknown()),
  validation: z.enum(['strict', 'lenient']),
  scheduled_at: instant.nullable(),
  timezone: z.string().nullable(),
  local_time: z.string().nullable(),
  created_at: instant,
  updated_at: instant,
  settled_at: instant.nullable(),
  approval: z.strictObject({ id: z.string(), status: z.string() }).nullable(),
  created_by: z.strictObject({ kind: z.enum(['user', 'key']), id: z.string(), name: z.string() }),
  deliveries: z.array(Delivery),
  warnings: z.array(Warning),
}

/** A post with its deliveries, as the API answers it (shapes.md 1). */
export const Post = z.strictObject(postFields).meta({ id: 'Post' })
export type Post = z.infer<typeof Post>

export const SchedulePost = z.strictObject({ scheduled_at: scheduledAt })

/** A delivery that an action left alone, and why. */
export const Skip = z
  .strictObject({ delivery_id: z.string(), platform: z.string(), status: DeliveryStatus, reason: z.string() })
  .meta({ id: 'Skip' })
export type Skip = z.infer<typeof Skip>

export const PublishedPost = z
  .strictObject({ ...postFields, queued: z.array(z.string()), skipped: z.array(Skip) })
  .meta({ id: 'PublishedPost' })
export const ScheduledPost = z
  .strictObject({ ...postFields, schedule_notice: z.null(), skipped: z.array(Skip) })
  .meta({ id: 'ScheduledPost' })
export const RetriedPost = z
  .strictObject({ ...postFields, requeued: z.array(z.string()), skipped: z.array(Skip) })
  .meta({ id: 'RetriedPost' })

/** The answer to DELETE: what it cancelled, and what it came too late for. */
export const CancelledPost = z
  .strictObject({
    ...postFields,
    cancelled: z.array(z.string()),
    kept: z.array(z.strictObject({ delivery_id: z.string(), platform: z.string(), status: z.string() })),
  })
  .meta({ id: 'CancelledPost' })
export type CancelledPost = z.infer<typeof CancelledPost>
