import { randomUUID } from 'node:crypto'
import express, { type Express } from 'express'
import { notFound } from '../src/errors.js'
import { statusOf } from '../src/operations/readiness.js'
import type { ApiContext } from './context.js'
import { answerErrors } from './http/errors.js'
import { mountRoutes } from './http/mount.js'
import { named, observeRequests } from './http/observe.js'
import { createFileServer } from './media/serve-file.js'
import { describeRoutes } from './openapi.js'
import { relayRoutes } from './relay/index.js'
import { createSandbox } from './sandbox/index.js'

/** The HTTP side of the product: middleware in order, then every route. */
export function createApp(context: ApiContext): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').set('query parser', false)
  app.use(observeRequests(context))
  app.set('trust proxy', context.config.trustProxy)
  app.use((request, response, next) => {
    response.set({ 'x-request-id': randomUUID(), 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    decodeURIComponent(request.url) // throws URIError here, where it is answered like any other bad input
    next()
  })
  const document = describeRoutes(relayRoutes)
  app.get('/v1/openapi.json', named('/v1/openapi.json'), (_request, response) => void response.json(document))
  app.get('/healthz', named('/healthz'), (_request, response) => void response.json({ status: 'ok' }))
  app.get('/readyz', named('/readyz'), async (_request, response) => {
    const answer = await context.readiness.answer()
    const { code, headers } = statusOf(answer)
    response.status(code).set(headers).json(answer)
  })
  if (context.config.sandboxUrl) app.use('/sandbox', named('/sandbox'), createSandbox(context))
  app.use('/media', named('/media'), createFileServer(context))
  mountRoutes(app, context, relayRoutes)
  app.use(() => {
    throw notFound()
  })
  app.use(answerErrors(context.log))
  return app
}
