import type { RequestHandler, Response } from 'express'
import type { Log } from '../../src/log.js'
import type { RequestMeter } from '../../src/operations/meters.js'

/** Asked every second by machines: told at debug, so that they do not drown what people did. */
const PROBES = new Set(['/healthz', '/readyz'])

/** Notes under which template a request is counted and logged. */
export function nameRoute(response: Response, template: string): void {
  response.locals['route'] = template
}

/** A step that only names what follows it. */
export function named(template: string): RequestHandler {
  return (_request, response, next) => {
    nameRoute(response, template)
    next()
  }
}

/** Once per request, when it is over: one line and one measurement. Neither the address nor a body is in them, only the route's template. */
export function observeRequests({ log, requests }: { log: Log; requests: RequestMeter }): RequestHandler {
  return (request, response, next) => {
    const begun = performance.now()
    response.once('close', () => {
      const ms = performance.now() - begun
      const route = String(response.locals['route'] ?? 'none')
      const { method } = request
      // 499 as nginx has it: the caller went away before its answer.
      const status = response.writableFinished ? response.statusCode : 499
      requests.answered({ method: KNOWN.has(method) ? method : 'other', route, status, seconds: ms / 1000 })
      const line = { method, route, status, ms: Math.round(ms), request_id: response.get('x-request-id') }
      log[PROBES.has(route) ? 'debug' : 'info'](line, 'request.answered')
    })
    next()
  }
}

const KNOWN = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
