import { buffer } from 'node:stream/consumers'
import { invalid } from '../../errors.js'
import { newId } from '../../ids.js'
import type { BlobStore } from '../../storage/blob-store.js'
import { dropLoose, noteLoose, type Storage } from '../../storage/loose-blobs.js'
import { HEAD_BYTES, sniffType, type FileType } from './file-type.js'
import { LARGEST_IMAGE, readImage } from './read-image.js'

/** A file in the blob store that no asset refers to yet. */
export interface StoredFile extends FileType {
  /** The id of the asset that it may become. */
  id: string
  blob: string
  bytes: number
  sha256: Buffer
  width: number | null
  height: number | null
}

/** Stores a file as it comes, in memory that does not grow with it. Throws 422 too_large beyond `maxBytes` (-1: no limit), 422 unsupported_media_type for
 *  what is no image, video or audio by its content, and what the stream throws; then nothing of it stays. */
export async function storeFile(
  storage: Storage,
  content: AsyncIterable<Uint8Array>,
  { organisationId, maxBytes }: { organisationId: string; maxBytes: number },
): Promise<StoredFile> {
  const id = newId('med')
  const blob = `org/${organisationId}/${id}`
  await noteLoose(storage.database, blob)
  try {
    const inspected = inspect(content, maxBytes)
    const measured = await storage.blobs.put(blob, inspected.content)
    const type = inspected.type()
    const size = type.kind === 'image' ? await readImage(await readBlob(storage.blobs, blob)) : NO_SIZE
    return { id, blob, ...measured, ...type, ...size }
  } catch (error) {
    await dropLoose(storage, blob)
    throw error
  }
}

const NO_SIZE = { width: null, height: null }

/** The whole of a file in memory; for images, which have a limit. */
export async function readBlob(blobs: BlobStore, blob: string): Promise<Buffer> {
  const stream = await blobs.get(blob)
  if (!stream) throw new Error(`The file ${blob} is gone`)
  return buffer(stream)
}

/** Lets a file pass until it is known to be none of ours: by its first bytes, or by one too many. */
function inspect(content: AsyncIterable<Uint8Array>, maxBytes: number) {
  let head = Buffer.alloc(0)
  let type: FileType | null = null
  let received = 0
  async function* pass(): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      received += chunk.byteLength
      requireSize(received, type?.kind === 'image' ? smaller(maxBytes, LARGEST_IMAGE) : maxBytes)
      if (!type) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)])
      if (!type && head.length === HEAD_BYTES) type = await requireType(head)
      yield chunk
    }
    type ??= await requireType(head)
  }
  return {
    content: pass(),
    type(): FileType {
      if (!type) throw new Error('The file was not read to its end')
      return type
    },
  }
}

const smaller = (limit: number, other: number) => (limit < 0 ? other : Math.min(limit, other))

/** Throws 422 too_large; -1 is no limit. */
export function requireSize(received: number, limit: number): void {
  if (limit < 0 || received <= limit) return
  const message = `is larger than ${limit} bytes`
  throw invalid([{ path: 'file', message, limit, received }], 'too_large', { limit, received })
}

async function requireType(head: Uint8Array): Promise<FileType> {
  const type = await sniffType(head)
  if (type) return type
  const message = 'is no JPEG, PNG, WebP, GIF, MP4, MOV, WebM, MP3, M4A or WAV by its content'
  throw invalid([{ path: 'file', message }], 'unsupported_media_type')
}
