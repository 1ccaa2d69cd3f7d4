import { z } from 'zod'
import type { Pause } from './pauses.js'
import type { Accepts, Platform as PlatformOf } from './platform.js'

/** A destination as the API answers it (shapes.md 1). */
export const Platform = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    status: z.enum(['open', 'gated', 'no_api', 'read_only']),
    category: z.enum(['social', 'decentralised', 'video', 'chat', 'blog', 'forum', 'newsletter', 'other']),
    available: z.boolean(),
    auth: z.strictObject({ kind: z.string() }),
    fields: z.array(z.string()),
    connect_schema: z.record(z.string(), z.unknown()).nullable(),
    settings_schema: z.record(z.string(), z.unknown()).nullable(),
    limits: z.strictObject({
      text: z.strictObject({ max: z.int(), unit: z.string() }),
      title: z.strictObject({ max: z.int() }).nullable(),
      media: z.strictObject({ max: z.int(), kinds: z.array(z.string()), max_bytes: z.int() }),
    }),
    features: z.array(z.string()),
    reason: z.string().nullable(),
    paused: z.strictObject({ reason: z.string(), since: z.iso.datetime() }).nullable(),
  })
  .meta({ id: 'Platform' })
export type Platform = z.infer<typeof Platform>

/** What anybody may know of a destination: all of it is read from its adapter, but whether an operator has paused it. */
export function presentPlatform(
  { id, name, status, category, auth, accepts, settings }: PlatformOf,
  pause: Pause | undefined,
): Platform {
  const schema = z.toJSONSchema(auth.fields, { io: 'input' })
  const { max, unit } = accepts.text
  return {
    id,
    name,
    status,
    category,
    available: status === 'open',
    auth: { kind: auth.kind },
    fields: schema.required ?? [],
    connect_schema: schema as Record<string, unknown>,
    settings_schema: settings ? (z.toJSONSchema(settings, { io: 'input' }) as Record<string, unknown>) : null,
    limits: {
      text: { max, unit },
      title: accepts.title ? { max: accepts.title.max } : null,
      media: accepts.media
        ? { max: accepts.media.max, kinds: [...accepts.media.kinds], max_bytes: accepts.media.maxBytes }
        : { max: 0, kinds: [], max_bytes: 0 },
    },
    features: featuresOf(accepts),
    reason: null,
    paused: pause ? { reason: pause.reason, since: pause.since.toISOString() } : null,
  }
}

function featuresOf({ title, link, tags, media, threads, firstComment }: Accepts): string[] {
  const has = { title, link, tags, media, alt_text: media, threads, first_comment: firstComment }
  return Object.entries(has).flatMap(([feature, there]) => (there ? [feature] : []))
}
