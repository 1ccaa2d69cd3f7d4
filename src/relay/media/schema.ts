import { z } from 'zod'
import { plainText } from '../../validation.js'

export const MediaKind = z.enum(['image', 'video', 'audio'])
export type MediaKind = z.infer<typeof MediaKind>

/** Words for who cannot see it. */
export const alt = plainText({ max: 2_000 })

/** An asset as the API answers it (shapes.md 1); `url` serves the file for an hour. */
export const Media = z
  .strictObject({
    id: z.string(),
    kind: MediaKind,
    content_type: z.string(),
    bytes: z.int(),
    sha256: z.string(),
    width: z.int().nullable(),
    height: z.int().nullable(),
    duration_ms: z.int().nullable(),
    alt: z.string().nullable(),
    filename: z.string(),
    url: z.url(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Media' })
export type Media = z.infer<typeof Media>

export const DeletedMedia = z.strictObject({ id: z.string(), deleted: z.literal(true) }).meta({ id: 'DeletedMedia' })
