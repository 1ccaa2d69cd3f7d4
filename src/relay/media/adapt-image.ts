import sharp, { type Metadata } from 'sharp'
import type { LoadedImage } from '../platforms/platform.js'
import { LIMITS } from './read-image.js'

/** What a platform takes of an image. */
export interface ImageLimits {
  maxBytes: number
  types?: readonly string[]
}

/** Tried in turn until the bytes fit: the longer side in pixels, and the quality. */
const STEPS = [
  [2_000, 85],
  [2_000, 70],
  [1_600, 65],
  [1_200, 60],
  [800, 55],
  [400, 50],
] as const

/** An image as it may be sent: upright, without what a camera wrote into it (where it was taken), and within the limits. What is within them and holds
 *  nothing of that kind stays as it is, byte for byte. Null when no step makes it fit. */
export async function adaptImage(bytes: Uint8Array, limits: ImageLimits): Promise<LoadedImage | null> {
  const metadata = await sharp(bytes, LIMITS).metadata()
  const contentType = `image/${metadata.format}`
  const takenAsIs = bytes.byteLength <= limits.maxBytes && (limits.types?.includes(contentType) ?? true)
  if (takenAsIs && !tellsTooMuch(metadata)) return { bytes, contentType, ...uprightSize(metadata) }
  const cleaned = takenAsIs ? await clean(bytes, contentType) : null
  if (cleaned && cleaned.bytes.byteLength <= limits.maxBytes) return cleaned
  const asWebp = metadata.hasAlpha && (limits.types?.includes('image/webp') ?? true)
  for (const [side, quality] of STEPS) {
    const smaller = await shrink(bytes, { side, quality, asWebp })
    if (smaller.bytes.byteLength <= limits.maxBytes) return smaller
  }
  return null
}

const tellsTooMuch = ({ exif, xmp, iptc }: Metadata) => Boolean(exif ?? xmp ?? iptc)

function uprightSize({ width, height, orientation = 1 }: Metadata) {
  return orientation > 4 ? { width: height, height: width } : { width, height }
}

/** The same image in the same format; sharp writes no metadata unless it is asked to. */
async function clean(bytes: Uint8Array, contentType: string): Promise<LoadedImage> {
  const { data, info } = await sharp(bytes, { ...LIMITS, animated: true })
    .autoOrient()
    .toBuffer({ resolveWithObject: true })
  return { bytes: data, contentType, width: info.width, height: info.pageHeight ?? info.height }
}

async function shrink(
  bytes: Uint8Array,
  { side, quality, asWebp }: { side: number; quality: number; asWebp: boolean },
): Promise<LoadedImage> {
  const fitted = sharp(bytes, LIMITS).autoOrient().resize(side, side, { fit: 'inside', withoutEnlargement: true })
  const encoded = asWebp ? fitted.webp({ quality }) : fitted.flatten({ background: '#fff' }).jpeg({ quality })
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true })
  return { bytes: data, contentType: asWebp ? 'image/webp' : 'image/jpeg', width: info.width, height: info.height }
}
