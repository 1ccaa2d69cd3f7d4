import { splitGraphemes } from 'unicode-segmenter/grapheme'
import type { Platform, TextLimit } from '../platforms/platform.js'

/** By how much a text is too long, in the unit of the limit it breaks. */
export interface Excess {
  limit: number
  received: number
  unit: string
}

const ELLIPSIS = '…'

const countBytes = (text: string) => Buffer.byteLength(text, 'utf8')

/** The limit that a text breaks; null when it fits. */
export function findExcess(
  { count }: Pick<Platform, 'count'>,
  { max, unit, maxBytes }: TextLimit,
  text: string,
): Excess | null {
  const limits = [
    { limit: max, received: count(text), unit },
    { limit: maxBytes ?? Infinity, received: countBytes(text), unit: 'bytes' },
  ]
  return limits.find(({ limit, received }) => received > limit) ?? null
}

/** The longest beginning of a text that fits with an ellipsis and `tail` behind it, cut between graphemes, and between words where the last of
 *  them is not half of it: half an address leads elsewhere. Null when not even the ellipsis fits. */
export function truncate(fits: (text: string) => boolean, text: string, tail = ''): string | null {
  const kept = [...splitGraphemes(text)]
  const cutAt = (length: number) => {
    const start = kept.slice(0, length).join('').trimEnd()
    // Right behind an address it would become part of it.
    return `${start}${/:\/\/\S+$/.test(start) ? ' ' : ''}${ELLIPSIS}${tail}`
  }
  if (!fits(cutAt(0))) return null
  // The longest that fits; a text only grows with its graphemes, so halving finds it.
  let [low, high] = [0, kept.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(cutAt(middle))) low = middle
    else high = middle - 1
  }
  return cutAt(wordEnd(kept, low))
}

function wordEnd(graphemes: string[], length: number): number {
  const blank = (at: number) => /^\s/.test(graphemes[at] ?? ' ')
  if (blank(length)) return length
  let end = length
  while (end > length / 2 && !blank(end - 1)) end--
  return end > length / 2 ? end : length
}
