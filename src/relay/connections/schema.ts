import { z } from 'zod'

const LONGEST_METADATA = 16_000

const metadata = z
  .record(z.string(), z.unknown())
  .refine(
    (metadata) => JSON.stringify(metadata).length <= LONGEST_METADATA,
    `must not exceed ${LONGEST_METADATA} characters as JSON`,
  )

export const CreateConnection = z.strictObject({
  platform: z.string().min(1),
  fields: z.record(z.string(), z.unknown()),
  metadata: metadata.optional(),
})

export const UpdateConnection = z.strictObject({
  metadata: metadata.optional(),
  status: z.enum(['active', 'disabled']).optional(),
})

export const DeletedConnection = z
  .strictObject({ id: z.string(), deleted: z.literal(true), cancelled_deliveries: z.int() })
  .meta({ id: 'DeletedConnection' })

export const ConnectionStatus = z.enum(['active', 'reauth_required', 'disabled', 'revoked'])
export type ConnectionStatus = z.infer<typeof ConnectionStatus>

const instant = z.iso.datetime()

/** A connection as the API answers it (shapes.md 1). Credentials are never part of it. */
export const Connection = z
  .strictObject({
    id: z.string(),
    platform: z.string(),
    status: ConnectionStatus,
    handle: z.string(),
    display_name: z.string().nullable(),
    avatar_url: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()),
    platform_app_id: z.string().nullable(),
    token_expires_at: instant.nullable(),
    last_verified_at: instant.nullable(),
    last_error: z.strictObject({ code: z.string(), message: z.string(), at: instant }).nullable(),
    created_via: z.enum(['api', 'oauth', 'connect_session']),
    created_at: instant,
  })
  .meta({ id: 'Connection' })
export type Connection = z.infer<typeof Connection>
