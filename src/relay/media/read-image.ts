import sharp from 'sharp'
import { invalid } from '../../errors.js'

/** An image is decoded whole, so it may not be larger than this. */
export const LARGEST_IMAGE = 50_000_000
/** 100 megapixels; a file of a few bytes may claim to have billions. */
export const LIMITS = { limitInputPixels: 100_000_000, failOn: 'error' } as const

/** Width and height of an image as it is shown, once all of it could be decoded. Throws 422 for one that is broken or has too many pixels. */
export async function readImage(bytes: Uint8Array): Promise<{ width: number; height: number }> {
  try {
    const { width, height, orientation = 1 } = await sharp(bytes, LIMITS).metadata()
    // Decodes every pixel: what passes here will not be refused as broken by a platform.
    await sharp(bytes, LIMITS).resize(8, 8, { fit: 'fill' }).raw().toBuffer()
    return orientation > 4 ? { width: height, height: width } : { width, height }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw invalid([{ path: 'file', message: `is an image that cannot be read: ${why}` }], 'unsupported_media_type')
  }
}
