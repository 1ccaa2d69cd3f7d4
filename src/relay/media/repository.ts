import type { Limits } from '../../accounts/plans.js'
import type { Sql } from '../../db/client.js'
import { page, type Page, type PageQuery } from '../../db/page.js'
import { AppError, invalid, notFound } from '../../errors.js'
import { keepBlob, letGo } from '../../storage/loose-blobs.js'
import { extensionOf } from './file-type.js'
import type { Media, MediaKind } from './schema.js'
import type { UrlSigner } from './signed-url.js'
import type { StoredFile } from './store-file.js'

/** An asset as its row holds it. */
export interface MediaRow extends Omit<Media, 'url' | 'created_at' | 'sha256'> {
  sha256: Uint8Array
  blob: string
  created_at: Date
}

const shown = (sql: Sql) => sql`
  id, kind, content_type, bytes::float8 as bytes, sha256, width, height, duration_ms, alt, filename, blob, created_at`

/** The asset of these bytes: a new one, or the one the organisation has, whose alt is filled in if it had none. Throws 429 quota_exceeded when a new one
 *  is more than the plan stores. */
export async function saveMedia(
  tx: Sql,
  { organisationId, limits }: { organisationId: string; limits: Pick<Limits, 'storage_bytes'> },
  { file, alt, filename }: { file: StoredFile; alt: string | null; filename: string },
): Promise<MediaRow> {
  // One at a time per organisation, as what others are storing cannot be seen.
  if (limits.storage_bytes >= 0)
    await tx`select pg_advisory_xact_lock(hashtextextended(${`storage ${organisationId}`}, 0))`
  const [row] = await tx<MediaRow[]>`
    insert into media (id, organisation_id, kind, content_type, bytes, sha256, width, height, alt, filename, blob)
    values (${file.id}, ${organisationId}, ${file.kind}, ${file.contentType}, ${file.bytes}, ${file.sha256}, ${file.width}, ${file.height},
            ${alt}, ${filename}, ${file.blob})
    on conflict (organisation_id, sha256) do update set alt = coalesce(media.alt, excluded.alt)
    returning ${shown(tx)}`
  if (!row) throw new Error('The asset was neither made nor found')
  if (row.id !== file.id) return row
  await keepBlob(tx, file.blob)
  if (limits.storage_bytes >= 0) await requireStorage(tx, organisationId, limits.storage_bytes)
  return row
}

async function requireStorage(tx: Sql, organisationId: string, max: number): Promise<void> {
  const [{ used }] = await tx<[{ used: number }]>`
    select coalesce(sum(bytes), 0)::float8 as used from media where organisation_id = ${organisationId}`
  if (used <= max) return
  const message = `The plan stores ${max} bytes, and this would make it ${used}; delete media or change the plan.`
  throw new AppError('quota_exceeded', message, { limit: 'storage_bytes', max, used, resets_at: null })
}

/** One asset; throws 404 when the organisation has none of that id. */
export async function requireMedia(sql: Sql, organisationId: string, id: string): Promise<MediaRow> {
  const [row] = await sql<MediaRow[]>`
    select ${shown(sql)} from media where organisation_id = ${organisationId} and id = ${id}`
  if (!row) throw notFound()
  return row
}

/** The asset behind a signed address, whoever it belongs to; null when it was deleted. */
export async function findSignedMedia(sql: Sql, id: string): Promise<MediaRow | null> {
  const [row] = await sql<MediaRow[]>`select ${shown(sql)} from media where id = ${id}`
  return row ?? null
}

/** Newest first. */
export async function listMedia(
  sql: Sql,
  organisationId: string,
  { kind, cursor, limit }: PageQuery & { kind?: MediaKind | undefined },
): Promise<Page<MediaRow>> {
  const rows = await sql<MediaRow[]>`
    select ${shown(sql)} from media
     where organisation_id = ${organisationId}
       ${kind ? sql`and kind = ${kind}` : sql``}
       ${cursor ? sql`and id < ${cursor}` : sql``}
     order by id desc
     limit ${limit + 1}`
  return page(rows, limit)
}

/** Deletes an asset and lets go of its file. Throws 404, and 422 invalid_state while a post that is to go out uses it. */
export async function deleteMedia(tx: Sql, organisationId: string, id: string): Promise<void> {
  const [row] = await tx<{ blob: string }[]>`
    select blob from media where organisation_id = ${organisationId} and id = ${id} for update`
  if (!row) throw notFound()
  // Under the lock: whoever accepts a post with it meanwhile waits, and then finds it gone.
  const users = await tx<{ id: string }[]>`
    select distinct p.id from post_media m join posts p on p.id = m.post_id
     where m.media_id = ${id} and p.status in ('scheduled', 'queued', 'publishing') order by p.id`
  if (users.length > 0)
    throw invalid([{ path: '', message: 'A post that is to go out uses it; cancel that first.' }], 'invalid_state', {
      post_ids: users.map((post) => post.id),
    })
  await tx`delete from media where id = ${id}`
  await letGo(tx, row.blob)
}

/** An asset as the API answers it, with an address of its file that is good for an hour. */
export function presentMedia({ blob: _blob, ...row }: MediaRow, signer: UrlSigner): Media {
  return {
    ...row,
    sha256: Buffer.from(row.sha256).toString('hex'),
    url: signer.sign({ id: row.id, name: nameOf(row) }),
    created_at: row.created_at.toISOString(),
  }
}

/** The file's name with the ending of what it is, for the path of its address. */
function nameOf({ filename, content_type }: Pick<MediaRow, 'filename' | 'content_type'>): string {
  const stem = filename.replace(/\.[^.]*$/, '').replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^-+|-+$/g, '') // prettier-ignore
  return `${stem.slice(0, 80) || 'file'}.${extensionOf(content_type)}`
}
