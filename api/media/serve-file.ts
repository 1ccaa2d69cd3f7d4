import { pipeline } from 'node:stream/promises'
import express, { type Request, type Response, type Router } from 'express'
import { notFound } from '../../src/errors.js'
import { findSignedMedia } from '../../src/relay/media/repository.js'
import type { ByteRange } from '../../src/storage/blob-store.js'
import type { ApiContext } from '../context.js'

/** Files by signed addresses: platforms that fetch what they publish, and browsers, have no key. Whatever is wrong with an address, the answer is 404. */
export function createFileServer({ database, blobs, signer }: ApiContext): Router {
  const router = express.Router()
  router.get('/:id/:name', async (request, response) => {
    const { searchParams } = new URL(request.originalUrl, 'http://host')
    const query = { expires: searchParams.get('expires') ?? '', signature: searchParams.get('signature') ?? '' }
    const row = signer.verify(request.params, query) ? await findSignedMedia(database, request.params.id) : null
    if (!row) throw notFound()
    const { bytes, content_type, blob } = row
    const range = readRange(request.get('range'), bytes)
    response.set(headersOf(request.params.name, content_type, Buffer.from(row.sha256).toString('hex')))
    if (range === 'unsatisfiable') return void response.status(416).set('content-range', `bytes */${bytes}`).end()
    const { start, end } = range ?? { start: 0, end: bytes - 1 }
    response.set('content-length', String(end - start + 1))
    if (range) response.status(206).set('content-range', `bytes ${start}-${end}/${bytes}`)
    if (request.method === 'HEAD') return void response.end()
    await send(response, await blobs.get(blob, range ?? undefined))
  })
  router.use((_request: Request) => {
    throw notFound()
  })
  return router
}

async function send(response: Response, file: NodeJS.ReadableStream | null): Promise<void> {
  if (!file) throw notFound()
  await pipeline(file, response).catch((error: NodeJS.ErrnoException) => {
    // Whoever asked went away; players do so all the time.
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  })
}

/** Nothing in a file is carried out, whatever it says it is. */
const headersOf = (name: string, contentType: string, sha256: string) => ({
  'content-type': contentType,
  'content-disposition': `inline; filename*=UTF-8''${encodeURIComponent(name)}`,
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
  'accept-ranges': 'bytes',
  etag: `"${sha256}"`,
  'cache-control': 'private, max-age=3600, immutable',
})

/** One range of bytes (RFC 9110 14.1.2); null for none, for several, and for what is no range, which are answered by the whole file. */
export function readRange(header: string | undefined, bytes: number): ByteRange | 'unsatisfiable' | null {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (!first && !last)) return null
  const start = first ? Number(first) : Math.max(0, bytes - Number(last))
  const end = first && last ? Math.min(Number(last), bytes - 1) : bytes - 1
  if (first && last && Number(first) > Number(last)) return null
  return start <= end ? { start, end } : 'unsatisfiable'
}
