import type { BlobStore } from '../../storage/blob-store.js'
import { CallFailure } from '../platforms/http.js'
import type { LoadedImage, MediaItem, Platform } from '../platforms/platform.js'
import { adaptImage } from './adapt-image.js'
import { readBlob } from './store-file.js'

/** The bytes of an image as its platform takes them. Throws CallFailure media_rejected when it cannot be made to fit. */
export async function loadImage(
  blobs: BlobStore,
  { accepts, name }: Platform,
  { asset }: MediaItem,
): Promise<LoadedImage> {
  if (!asset || !accepts.media) throw new Error('Only what a platform takes and was fetched can be loaded')
  const image = await adaptImage(await readBlob(blobs, asset.blob), accepts.media)
  if (image) return image
  const platformMessage = `The image ${asset.id} cannot be made small enough for ${name}.`
  throw new CallFailure(platformMessage, { code: 'media_rejected', certainty: 'not_sent', platformMessage })
}
