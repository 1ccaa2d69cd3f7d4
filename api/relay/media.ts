import { z } from 'zod'
import { cursorParameter, limitParameter } from '../../src/db/page.js'
import { idPattern } from '../../src/ids.js'
import * as repository from '../../src/relay/media/repository.js'
import { alt, DeletedMedia, Media, MediaKind } from '../../src/relay/media/schema.js'
import { route } from '../http/route.js'
import type { UploadedFile } from '../http/store-upload.js'

const UploadMedia = z.strictObject({
  file: z
    .custom<UploadedFile>((value) => typeof value === 'object', 'must be a file')
    .meta({ type: 'string', format: 'binary' }),
  // A form sends an empty field where nothing was filled in.
  alt: z
    .literal('')
    .transform(() => undefined)
    .or(alt)
    .optional(),
})

export const uploadMedia = route({
  method: 'post',
  path: '/v1/media',
  summary: 'Upload a file for posts; the same bytes again are the same asset',
  scope: 'publish',
  audit: 'media.created',
  upload: true,
  body: UploadMedia,
  responds: { status: 200, data: Media },
  async handle({ tx, context, caller, body: { file, alt = null } }) {
    const filename = file.filename.toWellFormed().replaceAll('\0', '').slice(0, 255)
    const row = await repository.saveMedia(tx, caller, { file: file.stored, alt, filename })
    return repository.presentMedia(row, context.signer)
  },
})

export const listMedia = route({
  method: 'get',
  path: '/v1/media',
  summary: 'Assets, newest first',
  scope: 'read',
  query: z.strictObject({
    kind: MediaKind.optional(),
    limit: limitParameter({ max: 100, usual: 25 }),
    cursor: cursorParameter('med'),
  }),
  responds: { status: 200, data: z.array(Media), pages: true },
  async handle({ tx, context, caller, query }) {
    const { rows, nextCursor } = await repository.listMedia(tx, caller.organisationId, query)
    return { rows: rows.map((row) => repository.presentMedia(row, context.signer)), nextCursor }
  },
})

const params = { id: z.string().regex(idPattern('med')) }

export const readMedia = route({
  method: 'get',
  path: '/v1/media/id/{id}',
  summary: 'One asset',
  scope: 'read',
  params,
  responds: { status: 200, data: Media },
  handle: async ({ tx, context, caller, params }) =>
    repository.presentMedia(await repository.requireMedia(tx, caller.organisationId, params.id), context.signer),
})

export const deleteMedia = route({
  method: 'delete',
  path: '/v1/media/id/{id}',
  summary: 'Delete an asset; published posts keep what the platform holds',
  scope: 'publish',
  audit: 'media.deleted',
  params,
  responds: { status: 200, data: DeletedMedia },
  async handle({ tx, caller, params: { id } }) {
    await repository.deleteMedia(tx, caller.organisationId, id)
    return { id, deleted: true as const }
  },
})
