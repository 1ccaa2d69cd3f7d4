import { createHash, createHmac } from 'node:crypto'
import { z } from 'zod'
import { plainText } from '../../validation.js'
import { CallFailure } from './http.js'
import type { Platform } from './platform.js'

const Fields = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .max(2_048)
    .refine((url) => !new URL(url).username && !new URL(url).password, 'must not hold a name or password'),
  secret: plainText({ min: 16, max: 255 }),
})

/** What a receiver may say of the post it made. */
const Receipt = z.object({ id: z.string().max(500), url: z.url({ protocol: /^https?$/ }).max(2_048) }).partial()

/** Any receiver that takes a signed POST. It knows a repeated one by `x-relay-delivery`, so what may have arrived is sent again. */
export const webhookPost: Platform = {
  id: 'webhook_post',
  name: 'Signed webhook',
  status: 'open',
  category: 'other',
  auth: { kind: 'webhook_url', fields: Fields, blame: { credentials: 'secret', address: 'url' } },
  accepts: {
    text: { max: 100_000, unit: 'characters' },
    title: { max: 500, unit: 'characters' },
    link: true,
    tags: { max: 30 },
    threads: true,
    firstComment: true,
  },
  count: (text) => [...text].length,
  landed: 'A',
  repeatableForMs: Number.MAX_SAFE_INTEGER,
  refusals: [
    ...[401, 403, 404, 410].map((status) => ({ status, code: 'auth_revoked' as const, bare: true as const })),
    ...[400, 422].map((status) => ({ status, code: 'content_rejected' as const, bare: true as const })),
    ...[413, 415].map((status) => ({ status, code: 'media_rejected' as const, bare: true as const })),
    { status: 409, code: 'duplicate_content', bare: true },
  ],

  entry: ({ url }) => ({ origin: String(url) }),
  reach: ({ url = '' }) => ({ origin: url, headers: {} }),

  // Whether the receiver takes anything shows with the first post; that it can be called at all, whatever it answers, shows now.
  async connect({ fields }, http) {
    const { url, secret } = Fields.parse(fields)
    await http.get('', z.unknown()).catch((error: unknown) => {
      if (!(error instanceof CallFailure) || error.failure.httpStatus === null) throw error
    })
    // The address is a credential too, so only its hash names the account.
    const accountId = createHash('sha256').update(url).digest('hex')
    return { ...shown(url), accountId, credentials: { url, secret } }
  },

  verify: async ({ url = '' }) => shown(url),

  async publish({ kind, text, title, link, tags, clientKey, credentials, replyTo }, http) {
    const json = { id: clientKey, kind, text, title, link, tags, reply_to: replyTo?.parent.remoteId ?? null }
    const receipt = await http.publish('', z.unknown(), {
      json,
      headers: {
        'x-relay-delivery': clientKey,
        'x-relay-signature': sign(JSON.stringify(json), credentials['secret'] ?? ''),
      },
    })
    const { id = clientKey, url = null } = Receipt.safeParse(receipt).data ?? {}
    return { remoteId: id, remoteUrl: url }
  },
}

/** As webhooks are signed (relay.md, Request headers): the time is this attempt's. */
function sign(body: string, secret: string): string {
  const t = Math.floor(Date.now() / 1000)
  return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`
}

const shown = (url: string) => ({ handle: new URL(url).host, displayName: null, avatarUrl: null })
