import { RichText } from '@atproto/api'
import { z } from 'zod'
import type { PlatformHttp } from './http.js'

const Identity = z.object({ did: z.string() })

/** A stretch of a text, in UTF-8 bytes, and what it is (app.bsky.richtext.facet). */
export interface Facet {
  index: { byteStart: number; byteEnd: number }
  features: { $type?: string; did?: string; uri?: string }[]
}

/** The links, tags and mentions of a text. Who is mentioned by handle must be named by DID; a handle nobody has stays plain text. */
export async function findFacets(text: string, http: PlatformHttp): Promise<Facet[]> {
  const richText = new RichText({ text })
  richText.detectFacetsWithoutResolution()
  const found = await Promise.all((richText.facets ?? []).map((facet) => resolveMentions(facet as Facet, http)))
  return found.filter((facet) => facet.features.length > 0)
}

async function resolveMentions(facet: Facet, http: PlatformHttp): Promise<Facet> {
  const features = await Promise.all(
    facet.features.map(async (feature) => {
      if (!feature.did) return feature
      const found = await http.find('GET', '/xrpc/com.atproto.identity.resolveHandle', Identity, {
        query: { handle: feature.did },
        absent: [{ status: 400 }], // nobody of that name: plain text
      })
      return found ? { ...feature, did: found.did } : null
    }),
  )
  return { ...facet, features: features.filter((feature) => feature !== null) }
}
