import type { z } from 'zod'
import type { Asset } from '../media/assets.js'
import type { MediaKind } from '../media/schema.js'
import type { ErrorCode } from '../../errors.js'
import type { PlatformHttp } from './http.js'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** What a platform's own credentials look like once they are opened; only its adapter knows the keys. */
export type Credentials = Record<string, string>

/** An account as the platform names it, with the credentials that act for it. */
export interface Account {
  accountId: string
  handle: string
  displayName: string | null
  avatarUrl: string | null
  credentials: Credentials
  /** Where this account's server takes less or more than the platform usually does. */
  limits?: Limits
}

/** What one server allows, in place of the platform's own. */
export interface Limits {
  textMax?: number
  mediaMax?: number
  imageBytes?: number
  altMax?: number
}

/** How a platform refuses: the first row whose status, and body where given, match names the code. */
export interface Refusal {
  status: number
  body?: RegExp
  code: ErrorCode
  /** Believed without a body that can be read. */
  bare?: true
}

/** How long a text may be. */
export interface TextLimit {
  max: number
  unit: 'characters' | 'graphemes'
  maxBytes?: number
}

/** What a platform can take of a content; what it has no place for is put into the text, joined or dropped. */
export interface Accepts {
  text: TextLimit
  title?: TextLimit
  /** A link, and tags, in fields of their own. */
  link?: true
  tags?: { max: number }
  /** Per piece: how many, of which kinds, how large each; `types` where not every type of a kind is taken; how long a description may be, in code points. */
  media?: { max: number; kinds: readonly MediaKind[]; maxBytes: number; types?: readonly string[]; altMax?: number }
  /** Further posts as replies to the one before. */
  threads?: true
  /** A comment under the post. */
  firstComment?: true
}

/** What a platform takes by itself: the post (the first), a further part of its thread, or the first comment under it. */
export interface Piece {
  kind: 'post' | 'part' | 'comment'
  text: string
  /** For a field of its own, where the platform has one. */
  title: string | null
  link: string | null
  tags: string[]
  media: MediaItem[]
}

/** One of a piece's media that its platform takes. */
export interface MediaItem {
  /** Its place in the content. */
  index: number
  id: string | null
  url: string | null
  /** Of an address that was not fetched yet: assumed. */
  kind: MediaKind
  contentType: string
  alt: string | null
  asset: Asset | null
  /** An image that is not taken as it is, and so made to fit before it is sent. */
  convert: boolean
}

/** An image as it is to be sent. */
export interface LoadedImage {
  bytes: Uint8Array
  contentType: string
  width: number
  height: number
}

/** A piece with the settings of its target. */
export interface Projection extends Piece {
  settings: Record<string, unknown>
}

/** A piece that the platform took; `reference` is what its adapter needs to reply to it. */
export interface Published {
  remoteId: string
  /** Null where a post has no address. */
  remoteUrl: string | null
  reference?: Json
}

export interface PublishRequest extends Projection {
  /** Chosen at the first claim and the same in every attempt at this piece. */
  clientKey: string
  prepared: Json
  /** For what a platform wants in the body, as an account's id. */
  credentials: Credentials
  /** What a further piece replies to: the post, and the piece before it, which for a comment is the post; null for the post itself. */
  replyTo: { root: Published; parent: Published } | null
}

/** What the platform says about a part whose outcome is unknown. */
export type LookUp = ({ result: 'landed' } & Published) | { result: 'absent' } | { result: 'cannot_ask' }

/** The platform as the server of one account has it. */
export function withLimits(platform: Platform, { textMax, mediaMax, imageBytes, altMax }: Limits): Platform {
  const { accepts } = platform
  const text = { ...accepts.text, max: textMax ?? accepts.text.max }
  if (!accepts.media) return { ...platform, accepts: { ...accepts, text } }
  const { max, maxBytes, altMax: usualAlt, ...media } = accepts.media
  const alt = altMax ?? usualAlt
  const ofServer = {
    ...media,
    max: mediaMax ?? max,
    maxBytes: imageBytes ?? maxBytes,
    ...(alt !== undefined && { altMax: alt }),
  }
  return { ...platform, accepts: { ...accepts, text, media: ofServer } }
}

/** Everything that is known about one platform, in one place; nothing outside its file names it. */
export interface Platform {
  id: string
  name: string
  status: 'open' | 'gated' | 'no_api' | 'read_only'
  category: 'social' | 'decentralised' | 'video' | 'chat' | 'blog' | 'forum' | 'newsletter' | 'other'
  auth: {
    kind: 'none' | 'app_password' | 'token' | 'webhook_url'
    fields: z.ZodObject
    /** The field to blame when the platform refuses the credentials, and the one when nothing of this kind answers at the address. */
    blame: { credentials: string; address?: string }
  }
  /** Calls under way at once per worker process; `PLATFORM_CONCURRENCY` where none is given. */
  concurrency?: number
  /** Whom a limit told in headers holds for; the connection where none is given. */
  limitScope?: 'connection' | 'app'
  accepts: Accepts
  /** What a target may set here beside the content. */
  settings?: z.ZodObject
  /** The length of a text by the platform's own rule, in `accepts.text.unit`. */
  count(text: string): number
  /** A: takes a client's key or id · B: can be asked for our marker · C: only a listing can be compared · D: nothing can be asked. */
  landed: 'A' | 'B' | 'C' | 'D'
  /** For how long after it was first sent the same request with the same client key is the same post, in milliseconds. Who may have landed is sent
   *  again that long where there is no look-up. */
  repeatableForMs?: number
  refusals: readonly Refusal[]
  /** Where an account's requests go and what they carry. `inner` is an origin the operator configured, not a tenant. */
  reach(credentials: Credentials): { origin: string; headers: Record<string, string>; inner?: true }
  /** Where a connect request goes before there are credentials. */
  entry(fields: Record<string, unknown>): { origin: string; inner?: true }
  /** Asks whether the credentials still work and who the account is; throws CallFailure. */
  verify(credentials: Credentials, http: PlatformHttp): Promise<Pick<Account, 'handle' | 'displayName' | 'avatarUrl'>>
  /** Checks what a person filled in and answers the account; throws CallFailure. */
  connect(request: { fields: Record<string, unknown>; organisationId: string }, http: PlatformHttp): Promise<Account>
  /** New credentials in place of expired ones. */
  refresh?(credentials: Credentials, http: PlatformHttp): Promise<Credentials>
  /** Ends the session at the platform. */
  signOut?(credentials: Credentials, http: PlatformHttp): Promise<void>
  /** A key of the form the platform wants; a UUIDv4 where there is none. */
  newClientKey?(): string
  /** Uploads and containers: repeatable, publishes nothing. */
  prepare?(
    projection: Projection,
    http: PlatformHttp,
    /** The bytes of an image, within what `accepts.media` allows. */
    loadImage: (item: MediaItem) => Promise<LoadedImage>,
  ): Promise<Json>
  /** Makes exactly one `http.publish` call. */
  publish(request: PublishRequest, http: PlatformHttp): Promise<Published>
  lookUp?(marker: { clientKey: string; credentials: Credentials }, http: PlatformHttp): Promise<LookUp>
}
