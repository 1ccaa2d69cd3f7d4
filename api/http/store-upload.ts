import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../src/accounts/schema.js'
import { requireSize, storeFile, type StoredFile } from '../../src/relay/media/store-file.js'
import { dropLoose } from '../../src/storage/loose-blobs.js'
import type { ApiContext } from '../context.js'
import { receiveUpload } from './receive-upload.js'

/** A file as the body of an upload route holds it. */
export interface UploadedFile {
  stored: StoredFile
  filename: string
}

/** What an upload route works with. */
interface StoredUpload {
  /** The fields of the form, and its file under `file`. */
  body: Record<string, unknown>
  /** Takes the file away again unless an asset refers to it: it was a duplicate, a replay, or refused. */
  release(): Promise<void>
  /** What is asked, for Idempotency-Keys. */
  asked: unknown
}

/** A form has so many bytes beside its file at the most. */
const LONGEST_REST = 100_000

/** Stores the file of a form outside any transaction. Throws as receiving and storing do; 422 too_large at once where Content-Length tells. */
export async function storeUpload(
  { database, blobs }: ApiContext,
  { organisationId, limits }: Caller,
  request: IncomingMessage,
): Promise<StoredUpload> {
  const maxBytes = limits.media_bytes
  requireSize(Number(request.headers['content-length'] ?? 0) - LONGEST_REST, maxBytes)
  const { fields, file } = await receiveUpload(request, async (stream, filename): Promise<UploadedFile> => {
    return { stored: await storeFile({ database, blobs }, stream, { organisationId, maxBytes }), filename }
  })
  return {
    body: { ...fields, ...(file && { file }) },
    asked: { ...fields, sha256: file?.stored.sha256.toString('hex') ?? null },
    async release() {
      if (file) await dropLoose({ database, blobs }, file.stored.blob)
    },
  }
}
