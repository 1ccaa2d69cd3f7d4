import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../../errors.js'
import { plainText } from '../../validation.js'
import type { MediaItem, Platform } from './platform.js'

const AccountAnswer = z.object({ id: z.string(), name: z.string(), token: z.string() })
const Token = z.object({ token: z.string() })
const Accepted = z.object({ id: z.string(), url: z.url() })
const LookUpAnswer = z.object({ posts: z.array(Accepted).nullable() })

const refusalCodes = Object.keys(ERRORS) as ErrorCode[]

/** The product's own destination at `origin` (`SANDBOX_URL`): real HTTP, with an append-only list of what reached it. */
export function sandbox(origin: string): Platform {
  return {
    id: 'sandbox',
    name: 'Sandbox',
    status: 'open',
    category: 'other',
    auth: {
      kind: 'none',
      fields: z.strictObject({ name: plainText({ max: 100 }).default('sandbox') }),
      blame: { credentials: 'name' },
    },
    accepts: {
      text: { max: 100_000, unit: 'characters' },
      title: { max: 500, unit: 'characters' },
      link: true,
      tags: { max: 30 },
      media: { max: 20, kinds: ['image', 'video', 'audio'], maxBytes: 5_000_000_000 },
      threads: true,
      firstComment: true,
    },
    count: (text) => [...text].length,
    landed: 'B', // asked for the client key
    refusals: refusalCodes.flatMap((code) =>
      [ERRORS[code].http, 200].map((status) => ({ status, body: new RegExp(`"code":"${code}"`), code })),
    ),

    entry: () => ({ origin, inner: true }),
    reach: ({ token }) => ({ origin, inner: true, headers: { authorization: `Bearer ${token}` } }),

    async connect({ fields, organisationId }, http) {
      const { id, name, token } = await http.post('/sandbox/api/accounts', AccountAnswer, {
        json: { owner: organisationId, name: fields['name'] },
      })
      return { accountId: id, handle: name, displayName: name, avatarUrl: null, credentials: { account_id: id, token } }
    },

    async verify(_credentials, http) {
      const { name } = await http.get('/sandbox/api/account', z.object({ name: z.string() }))
      return { handle: name, displayName: name, avatarUrl: null }
    },

    async refresh(credentials, http) {
      const { token } = await http.post('/sandbox/api/token', Token)
      return { ...credentials, token }
    },

    newClientKey: () => randomBytes(12).toString('hex'),

    async publish({ text, title, link, tags, media, clientKey, replyTo }, http) {
      const { id, url } = await http.publish('/sandbox/api/posts', Accepted, {
        json: {
          text,
          title,
          link,
          tags,
          media: media.map(shownMedia),
          client_key: clientKey,
          reply_to: replyTo?.parent.remoteId ?? null,
        },
      })
      return { remoteId: id, remoteUrl: url }
    },

    async lookUp({ clientKey }, http) {
      const { posts } = await http.get('/sandbox/api/posts', LookUpAnswer, { query: { client_key: clientKey } })
      if (!posts) return { result: 'cannot_ask' }
      const [post] = posts
      return post ? { result: 'landed', remoteId: post.id, remoteUrl: post.url } : { result: 'absent' }
    },
  }
}

/** The sandbox keeps no files: it notes which it would have got. */
function shownMedia({ asset, kind, alt }: MediaItem) {
  return { id: asset?.id ?? null, sha256: asset?.sha256 ?? null, kind, alt }
}
