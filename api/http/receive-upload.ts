import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { invalid } from '../../src/errors.js'

const LIMITS = { files: 1, fields: 5, parts: 6, fieldSize: 8_192, fieldNameSize: 100, headerPairs: 20 }

/** What came in a form: its fields, and what became of its file; `file` is undefined when there was none. */
export interface Upload<T> {
  fields: Record<string, string>
  file: T | undefined
}

/** Reads a form (RFC 7578) as it comes and hands its part `file` to `take`. Throws 422 for what is no such form, for more than 1 file, 5 fields or 8 kB
 *  in one of them, and what `take` throws, without waiting for the rest of the body; a caller who goes away in the middle breaks the stream. */
export async function receiveUpload<T>(
  request: IncomingMessage,
  take: (stream: Readable, filename: string) => Promise<T>,
): Promise<Upload<T>> {
  const parser = openParser(request)
  const fields: Record<string, string> = {}
  let taken: Promise<T> | undefined
  let open: Readable | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      const refuse = (message: string) => reject(invalid([{ path: '', message }], 'too_large'))
      parser.on('field', (name, value, nameCut, valueCut) => {
        if (nameCut || valueCut) refuse(`The field ${name.slice(0, 100)} is longer than 8 kB.`)
        fields[name] = value
      })
      parser.on('file', (name, stream, filename) => {
        if (name !== 'file')
          return reject(invalid([{ path: name.slice(0, 100), message: 'is not a file of this request' }]))
        open = stream
        // `take` hears it too and tells of it; without a listener it would end the process.
        stream.on('error', () => undefined)
        taken = take(stream, filename ?? '')
        taken.catch(reject)
      })
      parser.on('filesLimit', () => refuse('Send one file at a time.'))
      parser.on('fieldsLimit', () => refuse('Send 5 fields at the most.'))
      parser.on('partsLimit', () => refuse('Send 5 fields at the most.'))
      parser.on('finish', resolve)
      parser.on('error', () => reject(brokenForm()))
      request.once('close', () => request.complete || reject(brokenForm()))
      request.pipe(parser)
    })
    return { fields, file: await taken }
  } catch (error) {
    // What `take` holds is let go before anything is answered; the rest of the body is read away, so that the answer can be heard.
    request.unpipe(parser)
    request.resume()
    open?.destroy(error as Error)
    await taken?.catch(() => undefined)
    throw error
  }
}

const brokenForm = () => invalid([{ path: '', message: 'The form did not arrive whole.' }], 'malformed_form')

function openParser(request: IncomingMessage): BusboyInstance {
  const { 'content-type': contentType = '' } = request.headers
  if (!/^multipart\/form-data;.*boundary="?[^\s";]/i.test(contentType))
    throw invalid([{ path: '', message: 'Send a form as multipart/form-data.' }], 'unsupported_media_type')
  return Busboy({ headers: { ...request.headers, 'content-type': contentType }, limits: LIMITS })
}
