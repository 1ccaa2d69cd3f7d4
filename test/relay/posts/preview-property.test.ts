import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { previewTarget } from '../../../src/relay/posts/preview-post.js'
import { bluesky } from '../../../src/relay/platforms/bluesky.js'
import type { PlatformHttp } from '../../../src/relay/platforms/http.js'
import type { Json, Platform, PublishRequest } from '../../../src/relay/platforms/platform.js'
import { sandbox } from '../../../src/relay/platforms/sandbox.js'
import { resolveContent, type Content } from '../../../src/relay/posts/content.js'
import { projectTargets } from '../../../src/relay/posts/project-targets.js'
import { project } from '../../../src/relay/posts/projection.js'
import type { Aim } from '../../../src/relay/posts/schema.js'
import { postsAtRandom } from '../../support/posts-at-random.js'

const platforms: Platform[] = [bluesky, sandbox('http://sandbox')]
const byId = new Map(platforms.map((platform) => [platform.id, platform]))

/** What an adapter puts on the wire for each piece of a content, as bytes; its server finds nobody who is mentioned. */
async function sentBytes(platform: Platform, content: Content): Promise<string[]> {
  const sent: string[] = []
  const http = {
    find: () => Promise.resolve(null),
    publish: (_path: string, _schema: unknown, options?: { json?: unknown }) => {
      sent.push(Buffer.from(JSON.stringify(options?.json)).toString())
      return Promise.resolve({ uri: 'at://x', cid: 'c', id: '1', url: 'http://x/1' })
    },
  } as unknown as PlatformHttp
  const { pieces, settings } = project(platform, resolveContent(content, []))
  for (const piece of pieces) {
    const projection = { ...piece, settings }
    const prepared: Json =
      (await platform.prepare?.(projection, http, () => Promise.reject(new Error('There are no images')))) ?? null
    const clientKey = platform.newClientKey?.() ?? 'key'
    const request: PublishRequest = { ...projection, clientKey, prepared, credentials: { did: 'did:x' }, replyTo: null }
    await platform.publish(request, http)
  }
  return sent
}

const said = (bytes: string) => {
  const body = JSON.parse(bytes) as { text?: string; record?: { text: string } } & Record<string, unknown>
  return {
    text: body.record?.text ?? body.text,
    title: body['title'] ?? null,
    link: body['link'] ?? null,
    tags: body['tags'] ?? [],
    media: [],
  }
}

function preview(platform: Platform, content: Content, validation: 'strict' | 'lenient') {
  const target = {
    id: 'conn_1',
    platform: platform.id,
    handle: 'x',
    status: 'active' as const,
    overrides: null,
    warnings: [],
    limits: {},
  }
  const [projected] = projectTargets(byId, { content, overrides: {} }, [target])
  return previewTarget(projected!, { validation } as Aim)
}

test('what a preview shows, what strict accepts and what the adapters send are the same, over 10,000 posts', async () => {
  let adapted = 0
  await fc.assert(
    fc.asyncProperty(postsAtRandom, async (content) => {
      for (const platform of platforms) {
        const lenient = preview(platform, content, 'lenient')
        const strict = preview(platform, content, 'strict')
        const sent = (await sentBytes(platform, content)).map(said)
        const { text, title, link, tags, media, parts, first_comment } = lenient
        const shown = [
          { text, title, link, tags, media },
          ...parts,
          ...(first_comment ? [{ ...first_comment, title: null, link: null, tags: [], media: [] }] : []),
        ]
        expect(sent).toEqual(shown)

        // Strict takes exactly what lenient leaves as it is.
        expect(strict.ok).toBe(lenient.ok && lenient.warnings.length === 0)
        expect(strict.errors).toHaveLength(lenient.warnings.length + lenient.errors.length)
        if (lenient.warnings.length > 0) adapted++
        for (const piece of shown) {
          expect(platform.count(piece.text)).toBeLessThanOrEqual(platform.accepts.text.max)
          expect(Buffer.byteLength(piece.text)).toBeLessThanOrEqual(platform.accepts.text.maxBytes ?? Infinity)
          expect(piece.text.isWellFormed()).toBe(true)
        }
        // A difference that no warning explains would be a lie.
        if (strict.ok) expect(shown[0]!.text.startsWith(content.text ?? '')).toBe(true)
      }
    }),
    { numRuns: 10_000 },
  )
  expect(adapted).toBeGreaterThan(1_000)
})

test('the facets of a Bluesky post lie on the borders of its characters', async () => {
  await fc.assert(
    fc.asyncProperty(postsAtRandom, async (content) => {
      for (const bytes of await sentBytes(bluesky, content)) {
        const { record } = JSON.parse(bytes) as {
          record: { text: string; facets: { index: { byteStart: number; byteEnd: number } }[] }
        }
        const utf8 = Buffer.from(record.text)
        for (const { index } of record.facets) expect(isUtf8(utf8.subarray(index.byteStart, index.byteEnd))).toBe(true)
      }
    }),
    { numRuns: 1_000 },
  )
})
