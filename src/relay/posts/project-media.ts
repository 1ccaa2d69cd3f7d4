import { assumeType } from '../media/file-type.js'
import { keyOf, type Asset, type Assets } from '../media/assets.js'
import type { MediaItem, Platform } from '../platforms/platform.js'
import type { MediaRef } from './content.js'
import { truncate } from './fit-text.js'
import type { Adaptation, Obstacle } from './projection.js'

/** A reference with where in the content it stands. */
export interface PlacedRef {
  ref: MediaRef
  path: string
  index: number
}

/** Media that a platform does not get, and why. */
export interface NotTaken {
  index: number
  id: string | null
  url: string | null
  code: 'media_dropped'
  message: string
}

/** Media known by their address alone: the type is a guess, the size unknown. */
export interface Unverified {
  index: number
  url: string
  path: string
  contentType: string
}

export interface MediaProjection {
  media: MediaItem[]
  notTaken: NotTaken[]
  unverified: Unverified[]
  adaptations: Adaptation[]
  obstacles: Obstacle[]
}

/** What is taken for the type of an address that tells nothing. */
const LIKELIEST = { kind: 'image', contentType: 'image/jpeg' } as const

/** Which of the media one piece has a platform takes, and as what: the first ones of a kind it knows; images that are too large, or of a type it does
 *  not know, are made to fit when they are sent. What could not be had at all is an obstacle. */
export function projectMedia(platform: Platform, refs: PlacedRef[], assets: Assets): MediaProjection {
  const judged = refs.map((placed) => judgeMedia(platform, placed, assets.get(keyOf(placed.ref))))
  const max = platform.accepts.media?.max ?? 0
  const taken = judged.filter(({ item }) => item !== null)
  const spare = new Set(taken.slice(max))
  const all = judged.map((one) =>
    spare.has(one)
      ? drop(one.placed, {
          message: tooMany(platform, taken.length),
          limit: max,
          received: taken.length,
          unit: 'media',
        })
      : one,
  )
  return {
    media: all.flatMap(({ item }) => item ?? []),
    notTaken: all.flatMap(({ notTaken }) => notTaken ?? []),
    unverified: all.flatMap(({ item, placed: { path, index } }) =>
      item?.url && !item.asset ? { index, path, url: item.url, contentType: item.contentType } : [],
    ),
    adaptations: all.flatMap(({ adaptations }) => adaptations),
    obstacles: all.flatMap(({ obstacle }) => obstacle ?? []),
  }
}

interface Judged {
  placed: PlacedRef
  item: MediaItem | null
  notTaken?: NotTaken
  adaptations: Adaptation[]
  obstacle?: Obstacle
}

function judgeMedia(platform: Platform, placed: PlacedRef, found: Asset | { problem: string } | undefined): Judged {
  const { ref, path, index } = placed
  if (found && 'problem' in found) return missing(placed, found.problem)
  const { kind, contentType } = found ?? assumeType(ref.url ?? '') ?? LIKELIEST
  const { name, accepts } = platform
  const { media: limits } = accepts
  if (!limits?.kinds.includes(kind)) return drop(placed, { message: `${name} takes no ${kind}` })
  const misfit = found && misfitOf(platform, limits, found)
  if (misfit && kind !== 'image') return drop(placed, misfit)
  const described = fitAlt(platform, limits.altMax, { alt: ref.alt ?? found?.alt ?? null, path })
  const item = {
    index,
    id: ref.id ?? null,
    url: ref.url ?? null,
    kind,
    contentType,
    alt: described.alt,
    asset: found ?? null,
  }
  const converted: Adaptation[] = misfit
    ? [{ code: 'media_converted', path, ...NO_NUMBERS, ...misfit, message: `${misfit.message}; it is made to fit` }]
    : []
  return {
    placed,
    item: { ...item, convert: misfit !== undefined && misfit !== null },
    adaptations: [...converted, ...described.adaptations],
  }
}

type Limits = NonNullable<Platform['accepts']['media']>
type Misfit = Pick<Adaptation, 'message'> & Partial<Pick<Adaptation, 'limit' | 'received' | 'unit'>>

function misfitOf({ name }: Platform, { types, maxBytes }: Limits, { contentType, bytes }: Asset): Misfit | null {
  if (types && !types.includes(contentType)) return { message: `${name} takes no ${contentType}` }
  if (bytes <= maxBytes) return null
  const message = `${name} takes ${maxBytes} bytes at the most; this has ${bytes}`
  return { message, limit: maxBytes, received: bytes, unit: 'bytes' }
}

const NO_NUMBERS = { limit: null, received: null, unit: null }

function drop(placed: PlacedRef, { message, ...numbers }: Misfit): Judged {
  const { ref, path, index } = placed
  return {
    placed,
    item: null,
    notTaken: { index, id: ref.id ?? null, url: ref.url ?? null, code: 'media_dropped', message },
    adaptations: [{ code: 'media_dropped', path, message, ...NO_NUMBERS, ...numbers }],
  }
}

function missing(placed: PlacedRef, problem: string): Judged {
  const obstacle = {
    code: 'media_rejected',
    path: placed.path,
    message: `The media ${keyOf(placed.ref)} ${problem}`,
    limit: null,
    received: null,
  } as const
  return { placed, item: null, adaptations: [], obstacle }
}

const tooMany = ({ name, accepts }: Platform, received: number) =>
  `${name} takes ${accepts.media?.max ?? 0} media at the most; this has ${received}`

function fitAlt({ name }: Platform, max: number | undefined, { alt, path }: { alt: string | null; path: string }) {
  const received = [...(alt ?? '')].length
  if (alt === null || max === undefined || received <= max) return { alt, adaptations: [] }
  const message = `${name} takes descriptions of ${max} characters at the most; this has ${received}`
  const cut = truncate((text) => [...text].length <= max, alt)
  const adaptation: Adaptation = {
    code: 'text_truncated',
    path: `${path}.alt`,
    message,
    limit: max,
    received,
    unit: 'characters',
  }
  return { alt: cut, adaptations: [adaptation] }
}
