import { z } from 'zod'

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

/** An adaptation that was made to fit a destination (shapes.md 1). */
export const Warning = z
  .strictObject({
    code: z.enum(['text_truncated']),
    message: z.string(),
    path: z.string(),
    platform: z.string(),
    connection_id: z.string(),
    limit: z.int(),
    received: z.int(),
    unit: z.string(),
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
    overrides: z.record(z.string(), z.unknown()).nullable(),
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
