import { z } from 'zod'
import { Override } from '../posts/content.js'

const instant = z.iso.datetime()

export const DeliveryStatus = z.enum([
  'pending',
  'processing',
  'succeeded',
  'failed',
  'rejected',
  'skipped',
  'cancelled',
])
export type DeliveryStatus = z.infer<typeof DeliveryStatus>

export const AttemptState = z.enum(['intent', 'not_sent', 'sent', 'accepted', 'refused', 'unknown'])
export type AttemptState = z.infer<typeof AttemptState>

const number = z.int().nullable()

/** Something a caller should know of what was accepted: an adaptation to fit a destination, or a target that may not work (shapes.md 1). */
export const Warning = z
  .strictObject({
    code: z.enum([
      'text_truncated',
      'parts_joined',
      'title_dropped',
      'link_dropped',
      'tags_dropped',
      'media_dropped',
      'media_converted',
      'media_unverified',
      'recent_duplicate',
      'no_active_connection',
      'connection_needs_attention',
    ]),
    message: z.string(),
    path: z.string(),
    platform: z.string().nullable(),
    connection_id: z.string().nullable(),
    limit: number,
    received: number,
    unit: z.string().nullable(),
  })
  .meta({ id: 'Warning' })
export type Warning = z.infer<typeof Warning>

/** One row per post and destination, as the API answers it (shapes.md 1). */
export const Delivery = z
  .strictObject({
    id: z.string(),
    post_id: z.string(),
    connection_id: z.string(),
    platform: z.string(),
    handle: z.string(),
    status: DeliveryStatus,
    due_at: instant.nullable(),
    remote_id: z.string().nullable(),
    remote_url: z.string().nullable(),
    error_code: z.string().nullable(),
    error: z
      .strictObject({ message: z.string(), platform_message: z.string().nullable(), next_step: z.string() })
      .nullable(),
    attempts: z.int(),
    next_attempt_at: instant.nullable(),
    waiting_for: z.strictObject({ code: z.string(), reason: z.string(), until: instant.nullable() }).nullable(),
    overrides: Override.nullable(),
    warnings: z.array(Warning),
    created_at: instant,
    started_at: instant.nullable(),
    settled_at: instant.nullable(),
  })
  .meta({ id: 'Delivery' })
export type Delivery = z.infer<typeof Delivery>

/** One line of a delivery's ledger, as the API answers it. */
export const Attempt = z
  .strictObject({
    number: z.int(),
    generation: z.int(),
    /** Which piece of the post: 0 the post, then the parts of its thread, the first comment last. */
    part: z.int(),
    state: AttemptState,
    started_at: instant,
    sent_at: instant.nullable(),
    ended_at: instant.nullable(),
    http_status: z.int().nullable(),
    error_code: z.string().nullable(),
    platform_message: z.string().nullable(),
    remote_id: z.string().nullable(),
    look_up: z.strictObject({ result: z.enum(['found', 'absent', 'cannot_ask']), at: instant }).nullable(),
  })
  .meta({ id: 'Attempt' })
export type Attempt = z.infer<typeof Attempt>

/** The run of a workflow that acts for a delivery; one of an older generation is overtaken. */
export interface DeliveryRun {
  deliveryId: string
  generation: number
}
