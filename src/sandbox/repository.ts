import { createHash, randomBytes } from 'node:crypto'
import type { Json, Sql } from '../db/client.js'

/** One account of the sandbox; `timeline` is the unguessable part of its page's address. */
export interface SandboxAccount {
  id: string
  name: string
  timeline: string
  expired: boolean
}

/** An account with the token that a request came with, hashed. */
export type SignedIn = SandboxAccount & { token: Uint8Array }

/** A file as a request names it; `sha256` in hex. */
export interface SandboxMedia {
  id: string | null
  sha256: string | null
  kind: string
  alt: string | null
}

/** What a request to publish says. */
export interface SandboxRequest {
  clientKey: string
  text: string
  title: string | null
  link: string | null
  tags: string[]
  media: SandboxMedia[]
  /** The id of the post that it replies to. */
  replyTo: string | null
}

/** One accepted request, as timeline and look-up show it. */
export interface SandboxPost extends Pick<SandboxRequest, 'text' | 'title' | 'link' | 'tags' | 'media'> {
  post_id: string
  reply_to: string | null
  received_at: Date
}

const shown = (sql: Sql) => sql`post_id, text, title, link, tags, media, reply_to, received_at`

const hash = (token: string) => createHash('sha256').update(token).digest()
const unguessable = () => randomBytes(16).toString('hex')

/** Opens the owner's account of that name, or signs in to it anew; the token it answers replaces the one before. */
export async function openAccount(sql: Sql, { owner, name }: { owner: string; name: string }) {
  const token = unguessable()
  const [account] = await sql<SandboxAccount[]>`
    insert into sandbox_accounts (id, owner, name, timeline, token)
    values (${`sbx_${unguessable()}`}, ${owner}, ${name}, ${unguessable()}, ${hash(token)})
    on conflict (owner, name) do update set token = excluded.token, previous_token = null, expired = false
    returning id, name, timeline, expired`
  if (!account) throw new Error('The sandbox account was neither made nor found')
  return { account, token }
}

/** The account this token belongs to, also when it has expired. Its first use ends the token it was traded for. */
export async function findAccount(sql: Sql, token: string): Promise<SignedIn | null> {
  const [account] = await sql<(SignedIn & { traded: boolean })[]>`
    select id, name, timeline, expired, token, previous_token is not null as traded from sandbox_accounts where token = ${hash(token)}`
  if (account?.traded)
    await sql`update sandbox_accounts set previous_token = null where id = ${account.id} and token = ${account.token}`
  return account ?? null
}

/** Makes the token of a request expire, not one that it was traded for meanwhile. */
export async function expireToken(sql: Sql, { id, token }: SignedIn): Promise<void> {
  await sql`update sandbox_accounts set expired = true where id = ${id} and token = ${token}`
}

/** Trades a token, expired or not, for a new one; null when it is unknown, as one is that was traded before and whose successor was used. */
export async function tradeToken(sql: Sql, token: string): Promise<string | null> {
  const fresh = unguessable()
  const { count } = await sql`
    update sandbox_accounts set token = ${hash(fresh)}, previous_token = ${hash(token)}, expired = false
     where token = ${hash(token)} or previous_token = ${hash(token)}`
  return count === 1 ? fresh : null
}

/** How many requests came before: for this client key, and from the account within the last minute. */
export async function countRequests(
  sql: Sql,
  accountId: string,
  clientKey: string,
): Promise<{ ofKey: number; lastMinute: number }> {
  const [row] = await sql<{ ofKey: number; lastMinute: number }[]>`
    select (select count(*)::int from sandbox_requests where account_id = ${accountId} and client_key = ${clientKey}) as "ofKey",
           (select count(*)::int from sandbox_requests
             where account_id = ${accountId} and received_at > now() - interval '1 minute') as "lastMinute"`
  return row ?? { ofKey: 0, lastMinute: 0 }
}

/** Writes one request down; answers the post's id when it was accepted. Never deduplicates. */
export async function appendRequest(
  sql: Sql,
  accountId: string,
  { clientKey, text, title, link, tags, media, replyTo }: SandboxRequest,
  outcome: string,
): Promise<string | null> {
  const postId = outcome === 'accepted' ? unguessable() : null
  await sql`
    insert into sandbox_requests (account_id, client_key, text, title, link, tags, media, reply_to, outcome, post_id)
    values (${accountId}, ${clientKey}, ${text}, ${title}, ${link}, ${tags}, ${sql.json(media as unknown as Json)}, ${replyTo}, ${outcome}, ${postId})`
  return postId
}

/** What was accepted under this client key, oldest first. */
export async function findAccepted(sql: Sql, accountId: string, clientKey: string): Promise<SandboxPost[]> {
  return sql<SandboxPost[]>`
    select ${shown(sql)} from sandbox_requests
     where account_id = ${accountId} and client_key = ${clientKey} and outcome = 'accepted' order by seq`
}

/** The account behind a timeline's address and its newest 100 posts; null when there is none. */
export async function readTimeline(sql: Sql, timeline: string): Promise<{ name: string; posts: SandboxPost[] } | null> {
  const [account] = await sql<
    { id: string; name: string }[]
  >`select id, name from sandbox_accounts where timeline = ${timeline}`
  if (!account) return null
  const posts = await sql<SandboxPost[]>`
    select ${shown(sql)} from sandbox_requests
     where account_id = ${account.id} and outcome = 'accepted' order by seq desc limit 100`
  return { name: account.name, posts }
}
