import { z } from 'zod'
import { idPattern } from '../../ids.js'
import { plainText } from '../../validation.js'
import { alt } from '../media/schema.js'

const text = plainText({ max: 100_000 })
const title = plainText({ max: 500 })
const link = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
  .max(2_048)
  .refine((url) => url.isWellFormed() && !/[\s\0]/.test(url), 'must not hold blanks')
const tag = plainText({ max: 100 })
  .overwrite((tag) => tag.replace(/^#+/, '').trim())
  .refine((tag) => tag !== '', 'must hold more than #')

const mediaUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
  .max(2_048)
  .refine((url) => /^[\x21-\x7e]+$/.test(url), 'must be ASCII; percent-encode what is not')

/** An asset, or a public address that the service fetches. */
export const MediaRef = z
  .strictObject({
    id: z.string().regex(idPattern('med'), 'must be the id of an asset').optional(),
    url: mediaUrl.optional(),
    alt: alt.optional(),
  })
  .refine(({ id, url }) => (id === undefined) !== (url === undefined), 'needs an id or a url, and not both')
export type MediaRef = z.infer<typeof MediaRef>

const media = z.array(MediaRef).max(20)

const pieceFields = {
  text: text.optional(),
  title: title.optional(),
  link: link.optional(),
  tags: z.array(tag).max(30).optional(),
  media: media.optional(),
}

interface Substance {
  text?: string | undefined
  title?: string | undefined
  link?: string | undefined
  media?: readonly unknown[] | undefined
}

/** One post of a thread after its first. */
const Part = z.strictObject(pieceFields).refine(hasSubstance, 'needs a text, a title, a link or media')
const FirstComment = z.strictObject({ text })

const contentFields = {
  ...pieceFields,
  parts: z.array(Part).max(25).optional(),
  first_comment: FirstComment.optional(),
}

/** What a post says, before any platform has a say in it (relay.md, Post content object). May be empty: only a draft may stay so. */
export const Content = z.strictObject(contentFields).meta({ id: 'Content' })
export type Content = z.infer<typeof Content>

/** What is said otherwise to some: a key replaces the content's, null takes it away. */
export const Override = z
  .strictObject({
    text: text.nullable().optional(),
    title: title.nullable().optional(),
    link: link.nullable().optional(),
    tags: z.array(tag).max(30).nullable().optional(),
    media: media.nullable().optional(),
    parts: contentFields.parts.unwrap().nullable().optional(),
    first_comment: FirstComment.nullable().optional(),
    settings: z.record(z.string(), z.unknown()).nullable().optional(),
  })
  .meta({ id: 'Override' })
export type Override = z.infer<typeof Override>

/** A content with the settings of one platform. */
export type ResolvedContent = Content & { settings?: Record<string, unknown> }

/** Whether there is anything that could stand alone as a post. */
export function hasSubstance({ text, title, link, media = [] }: Substance): boolean {
  return Boolean(text ?? title ?? link) || media.length > 0
}

/** The content one target gets: each override replaces keys of what came before it, the last one wins (shapes.md 1, precedence). */
export function resolveContent(content: Content, overrides: readonly (Override | null | undefined)[]): ResolvedContent {
  const merged = Object.assign({}, content, ...overrides) as Record<string, unknown>
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && value !== undefined))
}

/** Every reference to media in a content and what overrides it, for whatever target. */
export function refsOf(pieces: readonly (Content | Override | null | undefined)[]): MediaRef[] {
  return pieces.flatMap((piece) => [
    ...(piece?.media ?? []),
    ...(piece?.parts ?? []).flatMap(({ media = [] }) => media),
  ])
}
