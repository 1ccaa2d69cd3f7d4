import type { z } from 'zod'
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
}

/** How a platform refuses: the first row whose status, and body where given, match names the code. */
export interface Refusal {
  status: number
  body?: RegExp
  code: ErrorCode
}

/** One part of a post as this platform takes it. */
export interface Projection {
  text: string
}

export interface PublishRequest extends Projection {
  /** Chosen at the first claim and the same in every attempt at this part. */
  clientKey: string
  prepared: Json
  /** For what a platform wants in the body, as an account's id. */
  credentials: Credentials
}

export interface Published {
  remoteId: string
  remoteUrl: string
}

/** What the platform says about a part whose outcome is unknown. */
export type LookUp = ({ result: 'landed' } & Published) | { result: 'absent' } | { result: 'cannot_ask' }

/** Everything that is known about one platform, in one place; nothing outside its file names it. */
export interface Platform {
  id: string
  name: string
  status: 'open' | 'gated' | 'no_api' | 'read_only'
  category: 'social' | 'decentralised' | 'video' | 'chat' | 'blog' | 'forum' | 'newsletter' | 'other'
  auth: {
    kind: 'none' | 'app_password' | 'token'
    fields: z.ZodObject
    /** The field to blame when the platform refuses the credentials, and the one when nothing of this kind answers at the address. */
    blame: { credentials: string; address?: string }
  }
  accepts: { text: { max: number; unit: 'characters' | 'graphemes'; maxBytes?: number } }
  /** The length of a text by the platform's own rule, in `accepts.text.unit`. */
  count(text: string): number
  /** A: takes a client's key or id · B: can be asked for our marker · C: only a listing can be compared · D: nothing can be asked. */
  landed: 'A' | 'B' | 'C' | 'D'
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
  prepare?(projection: Projection, http: PlatformHttp): Promise<Json>
  /** Makes exactly one `http.publish` call. */
  publish(request: PublishRequest, http: PlatformHttp): Promise<Published>
  lookUp?(marker: { clientKey: string; credentials: Credentials }, http: PlatformHttp): Promise<LookUp>
}
