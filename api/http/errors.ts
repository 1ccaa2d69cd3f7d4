import type { ErrorRequestHandler, Response } from 'express'
import { isAway } from '../../src/db/away.js'
import { AppError, ERRORS, invalid } from '../../src/errors.js'
import type { Log } from '../../src/log.js'

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')
const statusOf = (error: unknown): unknown => (error instanceof Error && 'status' in error ? error.status : null)
const typeOf = (error: unknown): string => (error instanceof Error && 'type' in error ? String(error.type) : '')

/** What a caller is told of anything thrown; errors of the body parser and of PostgreSQL included. Null: an error of our own. */
function toAppError(error: unknown): AppError | null {
  if (error instanceof AppError) return error
  if (error instanceof URIError)
    return invalid([{ path: '', message: 'The address is not percent-encoded correctly.' }], 'bad_encoding')
  switch (typeOf(error)) {
    case 'entity.parse.failed':
      return invalid([{ path: '', message: 'The body is not JSON.' }], 'malformed_json')
    case 'entity.too.large':
      return invalid([{ path: '', message: 'The body is larger than 1 MB.' }], 'too_large')
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return invalid([{ path: '', message: 'Send the body as UTF-8 JSON.' }], 'unsupported_media_type')
  }
  if (typeOf(error).startsWith('request.'))
    return invalid([{ path: '', message: 'The body did not arrive whole.' }], 'malformed_json')
  if (codeOf(error) === '22021' || codeOf(error) === '22P05')
    return invalid([{ path: '', message: 'Text must not hold NUL characters.' }], 'bad_encoding')
  if (statusOf(error) === 400)
    return invalid([{ path: '', message: 'The body cannot be read as it was sent.' }], 'malformed_json')
  if (isAway(error))
    return new AppError(
      'service_unavailable',
      'The service cannot reach its database or its storage. Nothing was done; try again.',
      {
        retry_after: 5,
      },
    )
  return null
}

/** Writes the one error body of the relay. */
function sendError(response: Response, { code, message, details }: AppError): void {
  if (typeof details['retry_after'] === 'number') response.set('retry-after', String(details['retry_after']))
  response.status(ERRORS[code].http).json({ error: { code, message, details } })
}

/** The last handler: every failure leaves in the same shape, and only what is a fault of ours is logged. */
export function answerErrors(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const known = toAppError(error)
    if (!known || known.code === 'service_unavailable')
      log.error(
        { error, method: request.method, path: request.path, request_id: response.get('x-request-id') },
        'request.failed',
      )
    if (response.headersSent) return next(error)
    sendError(
      response,
      known ?? new AppError('internal_error', `Something failed on our side. ${ERRORS.internal_error.nextStep}`),
    )
  }
}
