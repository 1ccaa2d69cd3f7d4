import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { countGraphemes } from 'unicode-segmenter/grapheme'
import { plainText } from '../../validation.js'
import { CallFailure, type PlatformHttp } from './http.js'
import type { Account, Limits, LoadedImage, MediaItem, Platform } from './platform.js'

const Fields = z.strictObject({
  instance_url: z.url({ protocol: /^https?$/, error: 'must be the http(s) address of a server' }),
  access_token: plainText({ max: 1_024 }),
})

const Me = z.object({ id: z.string(), acct: plainText({ max: 500 }), display_name: z.string(), avatar: z.string() })
const limit = z.int().positive()
const Instance = z.object({
  configuration: z.object({
    statuses: z.object({ max_characters: limit, max_media_attachments: limit.optional() }),
    media_attachments: z.object({ image_size_limit: limit.optional(), description_limit: limit.optional() }).optional(),
  }),
})
const Attachment = z.object({ id: z.string(), url: z.string().nullable() })
const Status = z.object({ id: z.string(), url: z.string().nullable(), uri: z.string() })

const Settings = z.strictObject({
  visibility: z.enum(['public', 'unlisted', 'private', 'direct']).optional(),
  sensitive: z.boolean().optional(),
  /** ISO 639-1. */
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/, 'must be a language code such as en')
    .optional(),
})

/** Idempotency-Key is kept up to an hour; some of it is left for the clock of a server. */
const KEY_KEPT_MS = 55 * 60_000

// As the server counts: an address is 23 long whatever its length, of a mention only the name (punctuation behind an address is none of it).
const ADDRESS = /https?:\/\/[^\s<>"]+?(?=[.,;:!?)\]}'"»]*(?:\s|$))/giu
const REMOTE_MENTION = /(?<![\w/])@([a-z0-9_]+)@[a-z0-9.-]*[a-z0-9]/gi

/** The length of a status by Mastodon's rule, in graphemes. */
export function mastodonLength(text: string): number {
  return countGraphemes(text.replaceAll(ADDRESS, 'x'.repeat(23)).replaceAll(REMOTE_MENTION, '@$1'))
}

/** Mastodon, and servers that speak its API, by access token. A status is known by the Idempotency-Key it was sent with. */
export const mastodon: Platform = {
  id: 'mastodon',
  name: 'Mastodon',
  status: 'open',
  category: 'decentralised',
  auth: { kind: 'token', fields: Fields, blame: { credentials: 'access_token', address: 'instance_url' } },
  accepts: {
    text: { max: 500, unit: 'graphemes' },
    media: {
      max: 4,
      kinds: ['image'],
      maxBytes: 16_777_216,
      types: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
      altMax: 1_500,
    },
    threads: true,
    firstComment: true,
  },
  settings: Settings,
  count: mastodonLength,
  landed: 'A',
  repeatableForMs: KEY_KEPT_MS,
  refusals: [
    { status: 401, code: 'auth_revoked' },
    { status: 403, code: 'auth_revoked' },
    { status: 422, body: /media|attachment|file/i, code: 'media_rejected' },
    { status: 422, code: 'content_rejected' },
    // what a part replies to is gone
    { status: 404, code: 'content_rejected' },
  ],

  entry: ({ instance_url }) => ({ origin: String(instance_url) }),
  reach: ({ instance_url = '', access_token }) => ({
    origin: instance_url,
    headers: { authorization: `Bearer ${access_token}` },
  }),

  async connect({ fields }, http) {
    const { instance_url, access_token } = Fields.parse(fields)
    const headers = { authorization: `Bearer ${access_token}` }
    const me = await http.get('/api/v1/accounts/verify_credentials', Me, { headers })
    const { host } = new URL(instance_url)
    return {
      ...shown(me, host),
      accountId: `${host}/${me.id}`,
      credentials: { instance_url, access_token },
      limits: await readLimits(http, headers),
    }
  },

  async verify({ instance_url = '' }, http) {
    return shown(await http.get('/api/v1/accounts/verify_credentials', Me), new URL(instance_url).host)
  },

  async prepare({ media }, http, loadImage) {
    return Promise.all(media.map((item) => uploadImage(item, http, loadImage)))
  },

  async publish({ text, clientKey, prepared, settings, replyTo }, http) {
    const media = prepared as string[]
    const status = await http.publish('/api/v1/statuses', Status, {
      headers: { 'idempotency-key': clientKey },
      json: {
        status: text,
        ...settings,
        ...(media.length > 0 && { media_ids: media }),
        ...(replyTo && { in_reply_to_id: replyTo.parent.remoteId }),
      },
    })
    return { remoteId: status.id, remoteUrl: status.url ?? status.uri }
  },
}

/** A server that does not tell its limits has the usual ones. */
async function readLimits(http: PlatformHttp, headers: Record<string, string>): Promise<Limits> {
  const instance = await http.find('GET', '/api/v2/instance', Instance, { headers, absent: [{ status: 404 }] })
  if (!instance) return {}
  const { statuses, media_attachments: media } = instance.configuration
  const known = {
    textMax: statuses.max_characters,
    mediaMax: statuses.max_media_attachments,
    imageBytes: media?.image_size_limit,
    altMax: media?.description_limit,
  }
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)) as Limits
}

const PROCESSING_TRIES = 15

/** An image on the server, once it has processed it; answers its id. Publishes nothing. */
async function uploadImage(
  item: MediaItem,
  http: PlatformHttp,
  loadImage: (item: MediaItem) => Promise<LoadedImage>,
): Promise<string> {
  const { bytes, contentType } = await loadImage(item)
  const file = new Blob([new Uint8Array(bytes)], { type: contentType })
  const fields = item.alt ? { description: item.alt } : {}
  let attachment = await http.uploadForm('/api/v2/media', Attachment, { file, fields })
  for (let tries = 0; !attachment.url; tries++) {
    if (tries === PROCESSING_TRIES)
      throw new CallFailure('The image is not processed yet', { code: 'platform_unavailable', certainty: 'not_sent' })
    await sleep(1_000)
    attachment = await http.get(`/api/v1/media/${encodeURIComponent(attachment.id)}`, Attachment)
  }
  return attachment.id
}

function shown(
  { acct, display_name, avatar }: z.infer<typeof Me>,
  host: string,
): Pick<Account, 'handle' | 'displayName' | 'avatarUrl'> {
  return { handle: `${acct}@${host}`, displayName: display_name || null, avatarUrl: avatar || null }
}
