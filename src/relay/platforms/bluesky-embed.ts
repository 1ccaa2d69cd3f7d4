import { z } from 'zod'
import type { Facet } from './bluesky-facets.js'
import type { PlatformHttp } from './http.js'
import type { Json, LoadedImage, MediaItem } from './platform.js'

const Uploaded = z.object({ blob: z.record(z.string(), z.unknown()) })

/** The images of a post (app.bsky.embed.images), uploaded; null without any. */
export async function embedImages(
  media: MediaItem[],
  http: PlatformHttp,
  loadImage: (item: MediaItem) => Promise<LoadedImage>,
): Promise<Json> {
  if (media.length === 0) return null
  const images = await Promise.all(
    media.map(async (item) => {
      const { bytes, contentType, width, height } = await loadImage(item)
      const { blob } = await http.upload('/xrpc/com.atproto.repo.uploadBlob', Uploaded, { bytes, contentType })
      return { image: blob as Json, alt: item.alt ?? '', aspectRatio: { width, height } }
    }),
  )
  return { $type: 'app.bsky.embed.images', images }
}

/** A card for the first link of a text (app.bsky.embed.external), as Bluesky's own app makes one, without a picture; null without a link. The page is not
 *  asked for its title. */
export function embedLink(facets: Facet[]): Json {
  const uri = facets.flatMap(({ features }) => features).find(({ uri }) => uri)?.uri
  if (!uri || !URL.canParse(uri)) return null
  const { hostname, pathname } = new URL(uri)
  const title = pathname === '/' ? hostname : `${hostname}${pathname}`
  return { $type: 'app.bsky.embed.external', external: { uri, title: title.slice(0, 200), description: '' } }
}
