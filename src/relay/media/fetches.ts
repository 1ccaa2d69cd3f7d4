import type { Sql } from '../../db/client.js'

/** An address of a post that this process alone fetches now. */
export interface Fetch {
  postId: string
  url: string
  /** This one included. */
  tries: number
}

/** Takes those addresses that nobody is fetching, and that wait for no further try, for so long. */
export async function leaseFetches(
  sql: Sql,
  { postId, urls, forMs }: { postId: string; urls: string[]; forMs: number },
): Promise<Fetch[]> {
  return sql<Fetch[]>`
    update post_media set tries = tries + 1, leased_until = now() + ${forMs} * interval '1 millisecond'
     where post_id = ${postId} and ref = any(${urls}) and media_id is null and problem is null
       and (leased_until is null or leased_until < now())
    returning post_id as "postId", ref as url, tries`
}

/** Writes down which asset an address turned out to be. */
export async function keepFetched(tx: Sql, { postId, url }: Fetch, mediaId: string): Promise<void> {
  await tx`update post_media set media_id = ${mediaId}, leased_until = null where post_id = ${postId} and ref = ${url}`
}

/** Writes down that an address could not be fetched: for good, or until another try. Of a lease that ran out nothing is said. */
export async function noteFailed(
  sql: Sql,
  { postId, url, tries }: Fetch,
  then: { problem: string } | { againInMs: number },
): Promise<void> {
  const problem = 'problem' in then ? then.problem : null
  const inMs = 'againInMs' in then ? then.againInMs : 0
  await sql`
    update post_media set problem = ${problem}, leased_until = now() + ${inMs} * interval '1 millisecond'
     where post_id = ${postId} and ref = ${url} and tries = ${tries} and media_id is null`
}

/** Replaces the warnings of a delivery that is still to be published. */
export async function replaceWarnings(
  sql: Sql,
  { id, generation }: { id: string; generation: number },
  warnings: object[],
): Promise<void> {
  await sql`
    update deliveries set warnings = ${sql.json(warnings as never)}
     where id = ${id} and generation = ${generation} and status = 'pending'`
}
