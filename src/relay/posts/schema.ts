import { z } from 'zod'
import { idPattern } from '../../ids.js'
import { isTimeZone, ScheduleNotice } from '../../time-zones.js'
import { plainText } from '../../validation.js'
import { Delivery, DeliveryStatus, Warning } from '../deliveries/schema.js'
import { MediaKind } from '../media/schema.js'
import { Content, Override } from './content.js'

const instant = z.iso.datetime()

const connectionId = z.string().regex(idPattern('conn'), 'must be the id of a connection')

const Target = z.strictObject({ connection_id: connectionId, overrides: Override.optional() })

const validation = z.enum(['strict', 'lenient']).default('lenient')

/** What a post says and where to (shapes.md 1); the same for POST /v1/posts and its preview. */
const aimFields = {
  content: Content,
  targets: z.array(Target).max(100).default([]),
  connection_ids: z.array(connectionId).max(100).default([]),
  platforms: z.array(z.string().max(100)).max(100).default([]),
  overrides: z.record(z.string().max(100), Override).default({}),
  validation,
}

export const PreviewPost = z.strictObject(aimFields)
export type Aim = z.infer<typeof PreviewPost>

/** An instant with an offset, or a wall clock. */
const scheduledAt = z.string().max(50)
const timezone = z.string().refine(isTimeZone, 'is not a time zone of the IANA database, such as Europe/Berlin')

export const CreatePost = z.strictObject({
  ...aimFields,
  scheduled_at: scheduledAt.optional(),
  timezone: timezone.optional(),
  external_id: plainText({ max: 255 }).optional(),
  draft: z.boolean().default(false),
  allow_duplicate: z.boolean().default(false),
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
  overrides: z.record(z.string(), Override),
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

/** The answer to POST: the post, and what a change of clocks did to its time. */
export const AcceptedPost = z
  .strictObject({ ...postFields, schedule_notice: ScheduleNotice.nullable() })
  .meta({ id: 'AcceptedPost' })
export type AcceptedPost = z.infer<typeof AcceptedPost>

export const SchedulePost = z.strictObject({ scheduled_at: scheduledAt, timezone: timezone.optional() })
export type SchedulePost = z.infer<typeof SchedulePost>

/** A delivery that an action left alone, and why. */
export const Skip = z
  .strictObject({ delivery_id: z.string(), platform: z.string(), status: DeliveryStatus, reason: z.string() })
  .meta({ id: 'Skip' })
export type Skip = z.infer<typeof Skip>

export const PublishedPost = z
  .strictObject({ ...postFields, queued: z.array(z.string()), skipped: z.array(Skip) })
  .meta({ id: 'PublishedPost' })
export const ScheduledPost = z
  .strictObject({ ...postFields, schedule_notice: ScheduleNotice.nullable(), skipped: z.array(Skip) })
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

const number = z.int().nullable()

const TakenMedia = z.strictObject({
  index: z.int(),
  id: z.string().nullable(),
  url: z.string().nullable(),
  kind: MediaKind,
  alt: z.string().nullable(),
})

/** What one target would get of a post, and why it would not (shapes.md 3). */
export const PreviewedTarget = z
  .strictObject({
    connection_id: z.string(),
    platform: z.string(),
    handle: z.string(),
    ok: z.boolean(),
    text: z.string(),
    title: z.string().nullable(),
    link: z.string().nullable(),
    tags: z.array(z.string()),
    parts: z.array(
      z.strictObject({
        text: z.string(),
        title: z.string().nullable(),
        link: z.string().nullable(),
        tags: z.array(z.string()),
        media: z.array(TakenMedia),
      }),
    ),
    first_comment: z.strictObject({ text: z.string() }).nullable(),
    media: z.array(TakenMedia),
    media_not_taken: z.array(
      z.strictObject({
        index: z.int(),
        id: z.string().nullable(),
        url: z.string().nullable(),
        code: z.string(),
        message: z.string(),
      }),
    ),
    length: z.strictObject({ count: z.int(), max: z.int(), unit: z.string() }),
    warnings: z.array(Warning),
    errors: z.array(
      z.strictObject({ code: z.string(), path: z.string(), message: z.string(), limit: number, received: number }),
    ),
    unverified_media: z.array(z.strictObject({ index: z.int(), url: z.string(), assumed_content_type: z.string() })),
  })
  .meta({ id: 'PreviewedTarget' })
export type PreviewedTarget = z.infer<typeof PreviewedTarget>

/** `warnings` are those of the whole post. */
export const PreviewedPost = z
  .strictObject({ ok: z.boolean(), targets: z.array(PreviewedTarget), warnings: z.array(Warning) })
  .meta({ id: 'PreviewedPost' })
export type PreviewedPost = z.infer<typeof PreviewedPost>
