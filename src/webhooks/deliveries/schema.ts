import { z } from 'zod'

const instant = z.iso.datetime()

export const WebhookDeliveryStatus = z.enum(['pending', 'succeeded', 'failed', 'held'])
export type WebhookDeliveryStatus = z.infer<typeof WebhookDeliveryStatus>

/** One event for one endpoint, as the API answers it, with its attempts, newest first (shapes.md 3). An attempt without a status or an error is under way. */
export const WebhookDelivery = z
  .strictObject({
    id: z.string(),
    event_id: z.string(),
    type: z.string(),
    status: WebhookDeliveryStatus,
    next_attempt_at: instant.nullable(),
    created_at: instant,
    attempts: z.array(
      z.strictObject({
        number: z.int(),
        at: instant,
        duration_ms: z.int().nullable(),
        http_status: z.int().nullable(),
        error: z.string().nullable(),
        response_excerpt: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' })
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

export const TestedWebhook = z
  .strictObject({ delivery_id: z.string(), event_id: z.string(), status: z.literal('pending') })
  .meta({ id: 'TestedWebhook' })
export type TestedWebhook = z.infer<typeof TestedWebhook>

/** Names the lane of one endpoint. */
export interface WebhookLane {
  endpointId: string
}

/** Where a lane stands after a batch: on which queue it belongs, and when it has something due; null: never, until it is woken. */
export interface LaneStep {
  failing: boolean
  waitMs: number | null
}
