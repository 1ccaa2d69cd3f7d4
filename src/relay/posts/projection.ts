import { splitGraphemes } from 'unicode-segmenter/grapheme'
import type { Platform } from '../platforms/platform.js'
import type { Content } from './schema.js'

/** An adaptation that was made, or a reason why none could be. */
export interface Adaptation {
  code: 'text_truncated'
  path: string
  message: string
  limit: number
  received: number
  unit: string
}

/** What a platform gets of a content, and what had to be changed for it. */
export interface Projected {
  text: string
  adaptations: Adaptation[]
}

const ELLIPSIS = '…'

const countBytes = (text: string) => Buffer.byteLength(text, 'utf8')

/** The one way from a content to what a platform gets: a text that is too long ends at the last whole grapheme that leaves room for an ellipsis.
 *  The same content always gives the same result, so what was checked is what is sent. */
export function project(platform: Platform, { text }: Content): Projected {
  const problem = findExcess(platform, text)
  return problem ? { text: truncate(platform, text), adaptations: [problem] } : { text, adaptations: [] }
}

function findExcess({ name, accepts, count }: Platform, text: string): Adaptation | null {
  const { max, unit, maxBytes } = accepts.text
  const limits = [
    { limit: max, received: count(text), unit },
    { limit: maxBytes ?? Infinity, received: countBytes(text), unit: 'bytes' },
  ]
  const over = limits.find(({ limit, received }) => received > limit)
  if (!over) return null
  const message = `${name} takes ${over.limit} ${over.unit} at the most; this text has ${over.received}`
  return { code: 'text_truncated', path: 'content.text', message, ...over }
}

function truncate(platform: Platform, text: string): string {
  const kept = [...splitGraphemes(text)]
  const fits = (length: number) => findExcess(platform, `${kept.slice(0, length).join('')}${ELLIPSIS}`) === null
  // The longest that fits; length only grows with graphemes, so halving finds it.
  let [low, high] = [0, kept.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return `${kept.slice(0, low).join('').trimEnd()}${ELLIPSIS}`
}
