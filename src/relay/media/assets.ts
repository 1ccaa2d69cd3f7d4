import type { Sql } from '../../db/client.js'
import { notFound } from '../../errors.js'
import type { MediaRef } from '../posts/content.js'
import type { MediaKind } from './schema.js'

/** An asset as far as fitting it to a platform and sending it there takes. */
export interface Asset {
  id: string
  kind: MediaKind
  contentType: string
  bytes: number
  /** In hex. */
  sha256: string
  width: number | null
  height: number | null
  alt: string | null
  blob: string
}

/** What is known of media, by what names them: an asset's id or an address. An address that is not there was not fetched yet. */
export type Assets = ReadonlyMap<string, Asset | { problem: string }>

export const NO_ASSETS: Assets = new Map()

/** What a reference names its media by. */
export const keyOf = ({ id, url }: MediaRef): string => id ?? url ?? ''

/** The columns of `Asset` of a row `m` as one jsonb value. */
export const assetColumn = (sql: Sql) => sql`
  jsonb_build_object('id', m.id, 'kind', m.kind, 'contentType', m.content_type, 'bytes', m.bytes, 'sha256', encode(m.sha256, 'hex'),
                     'width', m.width, 'height', m.height, 'alt', m.alt, 'blob', m.blob)`

/** The organisation's assets that are named, in one statement; throws 404 when it does not have one of them. `lock` keeps them from being deleted
 *  until the transaction ends. */
export async function requireAssets(
  sql: Sql,
  organisationId: string,
  { refs, lock }: { refs: MediaRef[]; lock: boolean },
): Promise<Assets> {
  const ids = [...new Set(refs.flatMap(({ id }) => id ?? []))]
  if (ids.length === 0) return NO_ASSETS
  const rows = await sql<{ asset: Asset }[]>`
    select ${assetColumn(sql)} as asset from media m
     where organisation_id = ${organisationId} and id = any(${ids}) order by id ${lock ? sql`for key share` : sql``}`
  if (rows.length < ids.length) throw notFound()
  return new Map(rows.map(({ asset }) => [asset.id, asset]))
}

/** What a post's media are to one of its runs. */
export interface PostMedia {
  ref: string
  asset: Asset | null
  problem: string | null
}

/** What media `pm` of a post `p` are, as one jsonb column. */
export const postMediaColumn = (sql: Sql) => sql`
  (select coalesce(jsonb_agg(jsonb_build_object(
            'ref', pm.ref, 'problem', pm.problem, 'asset', case when m.id is not null then ${assetColumn(sql)} end)), '[]')
     from post_media pm left join media m on m.id = pm.media_id where pm.post_id = p.id)`

/** An asset that was deleted since is a problem; an address that was not fetched yet is not there. */
export function toAssets(media: PostMedia[]): Assets {
  return new Map(
    media.flatMap(({ ref, asset, problem }): [string, Asset | { problem: string }][] => {
      if (asset) return [[ref, asset]]
      const why = problem ?? (isAddress(ref) ? null : 'was deleted')
      return why ? [[ref, { problem: why }]] : []
    }),
  )
}

/** Whether this names media by address. */
export const isAddress = (ref: string): boolean => ref.includes('://')

/** Writes down which media a post names. */
export async function insertPostMedia(sql: Sql, postId: string, refs: MediaRef[]): Promise<void> {
  const named = new Map(refs.map((ref) => [keyOf(ref), ref.id ?? null]))
  if (named.size === 0) return
  await sql`
    insert into post_media (post_id, ref, media_id)
    select ${postId}, ref, media_id from unnest(${[...named.keys()]}::text[], ${[...named.values()]}::text[]) as named (ref, media_id)`
}
