import { z } from 'zod'

/** Every action that is written down: what was done to which kind of thing. */
export const AuditAction = z.enum([
  'connection.created',
  'connection.updated',
  'connection.deleted',
  'connection.verified',
  'post.created',
  'post.published',
  'post.scheduled',
  'post.retried',
  'post.cancelled',
  'delivery.retried',
  'delivery.rearmed',
  'organisation.created',
  'key.created',
  'key.revoked',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.rotated',
  'webhook.tested',
  'webhook.replayed',
  'webhook.recovered',
  'webhook.disabled',
  'media.created',
  'media.deleted',
  'platform.paused',
  'platform.resumed',
  'keys.rotated',
])
export type AuditAction = z.infer<typeof AuditAction>

/** One line of the audit log, as the API answers it (shapes.md 3). */
export const AuditEntry = z
  .strictObject({
    id: z.string(),
    at: z.iso.datetime(),
    actor: z.strictObject({ kind: z.string(), id: z.string(), name: z.string() }),
    action: AuditAction,
    target: z.strictObject({ kind: z.string(), id: z.string() }),
    request_id: z.string().nullable(),
    ip: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' })
export type AuditEntry = z.infer<typeof AuditEntry>
