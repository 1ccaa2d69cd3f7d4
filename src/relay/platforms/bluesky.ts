import { TID } from '@atproto/common-web'
import { z } from 'zod'
import { countGraphemes } from 'unicode-segmenter/grapheme'
import { plainText } from '../../validation.js'
import { embedImages, embedLink } from './bluesky-embed.js'
import { findFacets } from './bluesky-facets.js'
import { CallFailure, type PlatformHttp } from './http.js'
import type { Account, Json, Platform, Published } from './platform.js'

const COLLECTION = 'app.bsky.feed.post'
const DEFAULT_SERVICE = 'https://bsky.social'

const Session = z.object({
  did: plainText({ max: 2_048 }),
  handle: plainText({ max: 253 }),
  accessJwt: z.string(),
  refreshJwt: z.string(),
  active: z.boolean().default(true),
})
const Who = Session.pick({ handle: true, active: true })
const Tokens = Session.pick({ accessJwt: true, refreshJwt: true })
const Created = z.object({ uri: z.string(), cid: z.string() })
const Fields = z.strictObject({
  service: z.url({ protocol: /^https?$/, error: 'must be the http(s) address of a server' }).default(DEFAULT_SERVICE),
  identifier: plainText({ max: 2_048 }),
  app_password: plainText({ max: 1_024 }),
})

/** Servers of older versions refuse more than a million bytes. */
const IMAGES = {
  max: 4,
  kinds: ['image'],
  maxBytes: 1_000_000,
  types: ['image/jpeg', 'image/png', 'image/webp'],
} as const

const Settings = z.strictObject({
  /** Shown to whoever filters by language (BCP 47). */
  langs: z
    .array(z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*$/, 'must be a language tag such as en or pt-BR'))
    .max(3)
    .optional(),
})

/** Bluesky and every other server of the AT Protocol, by app password. A record's key is chosen by us (atproto record-key, TID), so that it can be asked for. */
export const bluesky: Platform = {
  id: 'bluesky',
  name: 'Bluesky',
  status: 'open',
  category: 'decentralised',
  auth: { kind: 'app_password', fields: Fields, blame: { credentials: 'app_password', address: 'service' } },
  accepts: { text: { max: 300, unit: 'graphemes', maxBytes: 3_000 }, threads: true, firstComment: true, media: IMAGES },
  settings: Settings,
  count: countGraphemes,
  landed: 'A',
  refusals: [
    { status: 400, body: /"ExpiredToken"/, code: 'auth_expired' },
    // getSession of an account that was taken down
    { status: 400, body: /Could not find user info/, code: 'auth_revoked' },
    { status: 400, body: /"(InvalidToken|AccountTakedown|AccountDeactivated)"/, code: 'auth_revoked' },
    { status: 401, body: /"ExpiredToken"/, code: 'auth_expired' },
    { status: 401, code: 'auth_revoked' },
    { status: 403, code: 'auth_revoked' },
    { status: 400, body: /InvalidMimeType|InvalidSize|BlobNotFound/, code: 'media_rejected' },
    { status: 413, code: 'media_rejected' },
    { status: 400, body: /"InvalidRequest"/, code: 'content_rejected' },
  ],

  entry: ({ service }) => ({ origin: String(service) }),
  reach: ({ service = '', access_jwt }) => ({ origin: service, headers: { authorization: `Bearer ${access_jwt}` } }),

  async connect({ fields }, http) {
    const { service, identifier, app_password } = Fields.parse(fields)
    const session = await signIn(http, { identifier: identifier.replace(/^@/, ''), app_password })
    requireActive(session)
    return {
      ...shown(session.handle),
      accountId: session.did,
      credentials: {
        service,
        did: session.did,
        app_password,
        access_jwt: session.accessJwt,
        refresh_jwt: session.refreshJwt,
      },
    }
  },

  async verify(_credentials, http) {
    const who = await http.get('/xrpc/com.atproto.server.getSession', Who)
    requireActive(who)
    return shown(who.handle)
  },

  // Sign-ins are scarce (30 in 5 minutes), so the refresh token comes first; it rotates, and a used or revoked one buys nothing.
  async refresh(credentials, http) {
    const tokens = await http.find('POST', '/xrpc/com.atproto.server.refreshSession', Tokens, {
      headers: { authorization: `Bearer ${credentials['refresh_jwt']}` },
      absent: [{ status: 400 }, { status: 401 }],
    })
    const { did: identifier = '', app_password = '' } = credentials
    const { accessJwt, refreshJwt } = tokens ?? (await signIn(http, { identifier, app_password }))
    return { ...credentials, access_jwt: accessJwt, refresh_jwt: refreshJwt }
  },

  async signOut(credentials, http) {
    await http.post('/xrpc/com.atproto.server.deleteSession', z.unknown(), {
      headers: { authorization: `Bearer ${credentials['refresh_jwt']}` },
    })
  },

  newClientKey: () => TID.nextStr(),

  async prepare({ text, media }, http, loadImage) {
    const facets = await findFacets(text, http)
    const embed = (await embedImages(media, http, loadImage)) ?? embedLink(facets)
    return { facets: facets as unknown as Json, embed }
  },

  async publish({ text, clientKey, prepared, credentials, settings, replyTo }, http) {
    const { did = '' } = credentials
    const { facets, embed } = prepared as { facets: Json; embed: Json }
    const { cid } = await http.publish('/xrpc/com.atproto.repo.createRecord', Created, {
      json: {
        repo: did,
        collection: COLLECTION,
        rkey: clientKey,
        // The key holds the time it was made, so that a repeated attempt makes the very same record.
        record: {
          $type: COLLECTION,
          text,
          facets,
          ...(embed && { embed }),
          ...settings,
          ...(replyTo && { reply: { root: strongRef(replyTo.root), parent: strongRef(replyTo.parent) } }),
          createdAt: new Date(TID.fromStr(clientKey).timestamp() / 1000).toISOString(),
        },
      },
    })
    return published(did, clientKey, cid)
  },

  async lookUp({ clientKey, credentials }, http) {
    const { did = '' } = credentials
    const record = await http.find('GET', '/xrpc/com.atproto.repo.getRecord', Created, {
      query: { repo: did, collection: COLLECTION, rkey: clientKey },
      absent: [{ status: 400, body: /"RecordNotFound"/ }],
    })
    return record ? { result: 'landed', ...published(did, clientKey, record.cid) } : { result: 'absent' }
  },
}

/** A deactivated account still signs in, and takes no posts. */
function requireActive({ handle, active }: z.infer<typeof Who>): void {
  if (active) return
  const platformMessage = `The account ${handle} is deactivated.`
  throw new CallFailure(platformMessage, {
    code: 'auth_revoked',
    certainty: 'refused',
    answered: true,
    platformMessage,
  })
}

function signIn(
  http: PlatformHttp,
  { identifier, app_password: password }: { identifier: string; app_password: string },
) {
  // The access token that may be bound to `http` has no say here.
  return http.post('/xrpc/com.atproto.server.createSession', Session, {
    json: { identifier, password },
    headers: { authorization: '' },
  })
}

function shown(handle: string): Pick<Account, 'handle' | 'displayName' | 'avatarUrl'> {
  return { handle, displayName: null, avatarUrl: null }
}

function published(did: string, rkey: string, cid: string): Published {
  return {
    remoteId: `at://${did}/${COLLECTION}/${rkey}`,
    remoteUrl: `https://bsky.app/profile/${did}/post/${rkey}`,
    reference: cid,
  }
}

/** A record by address and content (com.atproto.repo.strongRef). */
function strongRef({ remoteId, reference }: Published): Json {
  return { uri: remoteId, cid: reference ?? '' }
}
