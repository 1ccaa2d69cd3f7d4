import type { Piece, Platform } from '../platforms/platform.js'
import { hasSubstance, type Content, type ResolvedContent } from './content.js'
import { composeText } from './compose-text.js'
import { fitTitle } from './fit-title.js'
import { projectMedia, type NotTaken, type PlacedRef, type Unverified } from './project-media.js'
import { NO_ASSETS, type Assets } from '../media/assets.js'

/** An adaptation that was made so that a platform can take a content. */
export interface Adaptation {
  code:
    | 'text_truncated'
    | 'parts_joined'
    | 'title_dropped'
    | 'link_dropped'
    | 'tags_dropped'
    | 'media_dropped'
    | 'media_converted'
  path: string
  message: string
  limit: number | null
  received: number | null
  unit: string | null
}

/** Why a platform cannot take a content however it is adapted. */
export interface Obstacle {
  code: 'validation_failed' | 'unsupported_capability' | 'media_rejected'
  path: string
  message: string
  limit: number | null
  received: number | null
}

/** What a platform gets of a content, and what had to be changed for it. Published in this order. */
export interface Projected {
  pieces: Piece[]
  /** Of the first piece's text, as the platform counts. */
  length: { count: number; max: number; unit: string }
  settings: Record<string, unknown>
  mediaNotTaken: NotTaken[]
  unverified: Unverified[]
  adaptations: Adaptation[]
  obstacles: Obstacle[]
}

type Source = Pick<Content, 'text' | 'title' | 'link' | 'tags'> & { media?: PlacedRef[] }

/** The one way from a content to what a platform gets. The same content and assets always give the same result, so what was previewed and checked is what is sent. */
export function project(platform: Platform, content: ResolvedContent, assets: Assets = NO_ASSETS): Projected {
  const { max, unit } = platform.accepts.text
  const { settings, obstacles } = readSettings(platform, content.settings)
  const { post, parts, comment, joined } = arrange(platform, content)
  const sources: [Piece['kind'], string, Source][] = [
    ['post', 'content', post],
    ...parts.map((part, at) => ['part', `content.parts.${at}`, part] as [Piece['kind'], string, Source]),
    ...(comment ? [['comment', 'content.first_comment', comment] as [Piece['kind'], string, Source]] : []),
  ]
  const made = sources.map(([kind, path, source]) => makePiece(platform, kind, { path, source, assets }))
  return {
    pieces: made.map(({ piece }) => piece),
    length: { count: platform.count(made[0]?.piece.text ?? ''), max, unit },
    settings,
    mediaNotTaken: made.flatMap(({ notTaken }) => notTaken),
    unverified: made.flatMap(({ unverified }) => unverified),
    adaptations: [...joined, ...made.flatMap(({ adaptations }) => adaptations)],
    obstacles: [...obstacles, ...made.flatMap(({ obstacles }) => obstacles)],
  }
}

function readSettings({ settings: schema, name }: Platform, sent: Record<string, unknown> | undefined) {
  if (!sent) return { settings: {}, obstacles: [] }
  const parsed = schema?.safeParse(sent)
  if (parsed?.success) return { settings: parsed.data as Record<string, unknown>, obstacles: [] }
  const problems = parsed?.error.issues.map(({ path, message }) => ({ path: ['settings', ...path].join('.'), message }))
  const obstacles = (problems ?? [{ path: 'settings', message: `${name} has no settings` }]).map((problem) => ({
    code: 'validation_failed' as const,
    ...problem,
    limit: null,
    received: null,
  }))
  return { settings: {}, obstacles }
}

/** What stays a piece of its own on this platform; the rest is joined to the post with blank lines. */
function arrange({ name, accepts }: Platform, { parts: sent = [], first_comment: comment, ...own }: ResolvedContent) {
  const post = placeMedia(own, 'content')
  const parts = sent.map((part, at) => placeMedia(part, `content.parts.${at}`))
  const threads = accepts.threads === true
  const comments = accepts.firstComment === true
  const loose = [...(threads ? [] : parts), ...(comments || !comment ? [] : [comment])]
  const joined: Adaptation[] = [
    ...(threads || parts.length === 0
      ? []
      : [joining('content.parts', `${name} has no threads: the parts are joined into one post`)]),
    ...(comments || !comment
      ? []
      : [joining('content.first_comment', `${name} takes no first comment: it is joined to the post`)]),
  ]
  return {
    post: loose.reduce<Source>(join, post),
    parts: threads ? parts : [],
    comment: comments && comment ? comment : null,
    joined,
  }
}

function placeMedia({ media = [], ...rest }: Content, at: string): Source {
  return { ...rest, media: media.map((ref, index) => ({ ref, index, path: `${at}.media.${index}` })) }
}

const joining = (path: string, message: string): Adaptation => ({
  code: 'parts_joined',
  path,
  message,
  limit: null,
  received: null,
  unit: null,
})

/** A link that the first has no place for stays in the text. */
function join(first: Source, next: Source): Source {
  const link = first.link ?? next.link
  const lines = [first.text, next.title, next.text, first.link && next.link !== first.link ? next.link : undefined]
  const text = lines.filter(Boolean).join('\n\n')
  return {
    ...first,
    ...(text && { text }),
    ...(link && { link }),
    tags: [...new Set([...(first.tags ?? []), ...(next.tags ?? [])])],
    media: [...(first.media ?? []), ...(next.media ?? [])],
  }
}

interface PlacedSource {
  path: string
  source: Source
  assets: Assets
}

function makePiece(platform: Platform, kind: Piece['kind'], { path, source, assets }: PlacedSource) {
  const { accepts } = platform
  const { title = null, link = null, tags = [] } = source
  const composed = composeText(platform, {
    text: source.text ?? '',
    link: accepts.link ? null : link,
    tags: accepts.tags ? [] : tags,
    path,
  })
  const { media, notTaken, unverified, ...fitted } = projectMedia(platform, source.media ?? [], assets)
  const titled = fitTitle(platform, title, path)
  const piece: Piece = {
    kind,
    text: composed.text,
    title: titled.title,
    link: accepts.link ? link : null,
    tags: accepts.tags ? tags.slice(0, accepts.tags.max) : [],
    media,
  }
  const spare = accepts.tags ? tags.length - piece.tags.length : 0
  const adaptations = [
    ...titled.adaptations,
    ...composed.adaptations,
    ...fitted.adaptations,
    ...(spare > 0 ? [tooManyTags(platform, { path, limit: piece.tags.length, received: tags.length })] : []),
  ]
  const obstacles = [
    ...fitted.obstacles,
    ...(isEmpty(piece) && fitted.obstacles.length === 0 ? [nothingLeft(platform, path)] : []),
  ]
  return { piece, adaptations, obstacles, notTaken, unverified }
}

function isEmpty({ text, title, link, media }: Piece): boolean {
  return !hasSubstance({ text: text || undefined, title: title ?? undefined, link: link ?? undefined, media })
}

function nothingLeft({ name }: Platform, path: string): Obstacle {
  const message = `${name} can take nothing of what this holds; give it a text`
  return { code: 'unsupported_capability', path, message, limit: null, received: null }
}

function tooManyTags(
  { name }: Platform,
  { path, limit, received }: { path: string; limit: number; received: number },
): Adaptation {
  const message = `${name} takes ${limit} tags at the most; this has ${received}`
  return { code: 'tags_dropped', path: `${path}.tags`, message, limit, received, unit: 'tags' }
}
