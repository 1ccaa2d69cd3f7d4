import type { Platform } from '../platforms/platform.js'
import { findExcess, truncate, type Excess } from './fit-text.js'
import type { Adaptation } from './projection.js'

interface Composition {
  text: string
  /** What has no field of its own on this platform, and so goes into the text. */
  link: string | null
  tags: string[]
  /** Where in the content this stands. */
  path: string
}

interface Composed {
  text: string
  adaptations: Adaptation[]
}

/** Text, link and hashtags as one text that the platform takes. What does not fit goes in the order of what matters least: the tags, then the end
 *  of the text; the link stays whole, or goes whole. */
export function composeText(platform: Platform, { text, link, tags, path }: Composition): Composed {
  const hashtags = tags.map(toHashtag)
  const missing = hashtags.filter((hashtag) => hashtag === null).length
  const adaptations = missing > 0 ? [dropped('tags', platform, { path, excess: null, count: missing })] : []
  const ownTags = hashtags.filter((hashtag) => hashtag !== null && !hasHashtag(text, hashtag)).join(' ')

  const whole = paragraphs(withLink(text, link), ownTags)
  const excess = findExcess(platform, platform.accepts.text, whole)
  if (!excess) return { text: whole, adaptations }
  if (ownTags) adaptations.push(dropped('tags', platform, { path, excess }))
  const shortened = shorten(platform, { text, link, path })
  return { text: shortened.text, adaptations: [...adaptations, ...shortened.adaptations] }
}

function shorten(platform: Platform, { text, link, path }: Omit<Composition, 'tags'>): Composed {
  const excessOf = (candidate: string) => findExcess(platform, platform.accepts.text, candidate)
  const fits = (candidate: string) => excessOf(candidate) === null
  const whole = withLink(text, link)
  const excess = excessOf(whole)
  if (!excess) return { text: whole, adaptations: [] }
  const cut = text && truncateAround(fits, text, link)
  if (cut) return { text: cut, adaptations: [truncated(platform, path, excess)] }
  if (!link) return { text: '', adaptations: [] }
  const rest = shorten(platform, { text, link: null, path })
  return { text: rest.text, adaptations: [dropped('link', platform, { path, excess }), ...rest.adaptations] }
}

/** A link inside the part of the text that stays is enough. */
function truncateAround(fits: (text: string) => boolean, text: string, link: string | null): string | null {
  const plain = truncate(fits, text)
  return link && !(plain && holdsAddress(plain, link)) ? truncate(fits, text, `\n\n${link}`) : plain
}

const withLink = (text: string, link: string | null) =>
  link && !holdsAddress(text, link) ? paragraphs(text, link) : text
const paragraphs = (...of: string[]) => of.filter(Boolean).join('\n\n')

/** `#` and the tag's letters, digits, marks and underscores; null when it has none, or digits alone, which no platform links. */
function toHashtag(tag: string): string | null {
  const word = tag.replaceAll(/[^\p{L}\p{M}\p{N}_]/gu, '')
  return /[\p{L}_]/u.test(word) ? `#${word}` : null
}

/** The whole address, not the beginning of a longer one. */
function holdsAddress(text: string, address: string): boolean {
  return text
    .split(/\s+/)
    .some((word) => word === address || word.replace(/[.,;:!?)\]}'"»]+$/, '').replace(/^[([{'"«]+/, '') === address)
}

function hasHashtag(text: string, hashtag: string): boolean {
  return text.toLowerCase().split(/\s+/).includes(hashtag.toLowerCase())
}

function truncated({ name }: Platform, path: string, excess: Excess): Adaptation {
  const message = `${name} takes ${excess.limit} ${excess.unit} at the most; this text has ${excess.received}`
  return { code: 'text_truncated', path: `${path}.text`, message, ...excess }
}

function dropped(
  what: 'tags' | 'link',
  { name }: Platform,
  { path, excess, count }: { path: string; excess: Excess | null; count?: number },
): Adaptation {
  const message = excess
    ? `${name} takes ${excess.limit} ${excess.unit} at the most; with the ${what} it would be ${excess.received}`
    : `${count} of the tags cannot be a hashtag: it needs a letter`
  const { limit = null, received = null, unit = null } = excess ?? {}
  return {
    code: what === 'tags' ? 'tags_dropped' : 'link_dropped',
    path: `${path}.${what}`,
    message,
    limit,
    received,
    unit,
  }
}
