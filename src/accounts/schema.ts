import { z } from 'zod'
import type { Limits, PlanCode } from './plans.js'

/** What a key may do (relay.md, Authentication). `admin` implies the others; the others imply nothing. */
export const SCOPES = ['read', 'publish', 'connect', 'admin'] as const

export type Scope = (typeof SCOPES)[number]

/** Who makes a request: a key acts for one organisation. */
export interface Caller {
  organisationId: string
  kind: 'key'
  id: string
  name: string
  scopes: Scope[]
  plan: PlanCode
  /** Of the plan, with what was agreed for the organisation. */
  limits: Limits
  /** The organisation's, for wall clocks that name none. */
  timezone: string
}

const instant = z.iso.datetime().nullable()

/** A key as the API answers it (shapes.md 1): never its text. */
export const Key = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    last4: z.string(),
    created_by: z.strictObject({ kind: z.literal('user'), id: z.string(), name: z.string() }).nullable(),
    created_at: z.iso.datetime(),
    expires_at: instant,
    last_used_at: instant,
    revoked_at: instant,
  })
  .meta({ id: 'Key' })
export type Key = z.infer<typeof Key>
