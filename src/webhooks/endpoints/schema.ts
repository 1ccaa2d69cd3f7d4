import { z } from 'zod'
import { plainText } from '../../validation.js'

const instant = z.iso.datetime()
const LONGEST_URL = 2048

/** What an endpoint is told of: chosen types of the product's catalogue, or `["*"]`, also those that are added later. */
export const eventChoice = (catalogue: readonly string[]) =>
  z
    .array(z.enum([...catalogue, '*']))
    .min(1)
    .max(catalogue.length + 1)
    .refine((chosen) => new Set(chosen).size === chosen.length, 'must not name an event twice')
    .refine((chosen) => !chosen.includes('*') || chosen.length === 1, 'must be ["*"] alone to choose every event')

const url = plainText({ max: LONGEST_URL }).refine((text) => isWebAddress(text), {
  error: 'must be an http or https address without a user name, a password or a fragment',
})

function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && !username && !password && !text.includes('#')
}

const description = plainText({ max: 200 }).nullable()

export const createEndpoint = (catalogue: readonly string[]) =>
  z.strictObject({ url, events: eventChoice(catalogue), description: description.optional() })

export const updateEndpoint = (catalogue: readonly string[]) =>
  z.strictObject({
    url: url.optional(),
    events: eventChoice(catalogue).optional(),
    enabled: z.boolean().optional(),
    description: description.optional(),
  })
export type EndpointChanges = z.infer<ReturnType<typeof updateEndpoint>>

export const RotateSecret = z.strictObject({ overlap_hours: z.int().min(0).max(72).default(0) })

export const DisabledReason = z.enum(['switched_off', 'gone', 'failing'])
export type DisabledReason = z.infer<typeof DisabledReason>

const endpoint = {
  id: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  description: z.string().nullable(),
  enabled: z.boolean(),
  state: z.enum(['healthy', 'failing', 'disabled']),
  failing_since: instant.nullable(),
  disabled_at: instant.nullable(),
  disabled_reason: DisabledReason.nullable(),
  secret_last4: z.string(),
  previous_secret_expires_at: instant.nullable(),
  created_at: instant,
}

/** An endpoint as the API answers it (shapes.md 1). */
export const Endpoint = z.strictObject(endpoint).meta({ id: 'Endpoint' })
export type Endpoint = z.infer<typeof Endpoint>

/** With its secret, told this once; null in a replayed answer, which does not keep it. */
export const EndpointWithSecret = z
  .strictObject({ ...endpoint, secret: z.string().nullable() })
  .meta({ id: 'EndpointWithSecret' })
export type EndpointWithSecret = z.infer<typeof EndpointWithSecret>

export const DeletedEndpoint = z
  .strictObject({ id: z.string(), deleted: z.literal(true) })
  .meta({ id: 'DeletedEndpoint' })
