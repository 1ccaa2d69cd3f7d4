import { z } from 'zod'
import { countGraphemes } from 'unicode-segmenter/grapheme'
import { plainText } from '../../validation.js'
import type { PlatformHttp } from './http.js'
import type { Account, Platform } from './platform.js'

const Fields = z.strictObject({
  instance_url: z.url({ protocol: /^https?$/, error: 'must be the http(s) address of a server' }),
  access_token: plainText({ max: 1_024 }),
})

const Me = z.object({ id: z.string(), acct: plainText({ max: 500 }), display_name: z.string(), avatar: z.string() })
const Instance = z.object({
  configuration: z.object({ statuses: z.object({ max_characters: z.int().positive() }) }),
})
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
  accepts: { text: { max: 500, unit: 'graphemes' }, threads: true, firstComment: true },
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

  async publish({ text, clientKey, settings, replyTo }, http) {
    const status = await http.publish('/api/v1/statuses', Status, {
      headers: { 'idempotency-key': clientKey },
      json: { status: text, ...settings, ...(replyTo && { in_reply_to_id: replyTo.parent.remoteId }) },
    })
    return { remoteId: status.id, remoteUrl: status.url ?? status.uri }
  },
}

/** A server that does not tell its limits has the usual ones. */
async function readLimits(http: PlatformHttp, headers: Record<string, string>) {
  const instance = await http.find('GET', '/api/v2/instance', Instance, { headers, absent: [{ status: 404 }] })
  return instance ? { textMax: instance.configuration.statuses.max_characters } : {}
}

function shown(
  { acct, display_name, avatar }: z.infer<typeof Me>,
  host: string,
): Pick<Account, 'handle' | 'displayName' | 'avatarUrl'> {
  return { handle: `${acct}@${host}`, displayName: display_name || null, avatarUrl: avatar || null }
}
