import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import { z } from 'zod'
import { limitsOf } from '../../src/accounts/plans.js'
import type { Caller, Scope } from '../../src/accounts/schema.js'
import type { Transaction } from '../../src/db/client.js'
import type { Page } from '../../src/db/page.js'
import { AppError, invalid, notFound } from '../../src/errors.js'
import { parseInput } from '../../src/validation.js'
import type { ApiContext } from '../context.js'
import { auditOf } from './audit.js'
import { authenticate, requireFeature, requireScope } from './authenticate.js'
import { readKeyedRequest, type FreshReply, type Reply } from './idempotency.js'
import { nameRoute } from './observe.js'
import type { AnyRoute } from './route.js'
import { storeUpload } from './store-upload.js'

const parseJson = express.json({ limit: '1mb', strict: false })

/** Puts routes into the app, and a 405 with `Allow` behind the methods a path has. */
export function mountRoutes(app: Express, context: ApiContext, routes: readonly AnyRoute[]): void {
  for (const route of routes) app[route.method](expressPath(route.path), handlerOf(context, route))
  for (const [path, allow] of methodsByPath(routes))
    app.all(expressPath(path), (_request, response) => {
      nameRoute(response, path)
      response.set('allow', allow)
      throw new AppError('method_not_allowed', `This resource takes ${allow}.`)
    })
}

function expressPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

function methodsByPath(routes: readonly AnyRoute[]): [string, string][] {
  const paths = new Map<string, string[]>()
  for (const { method, path } of routes) paths.set(path, [...(paths.get(path) ?? []), method.toUpperCase()])
  return [...paths].map(([path, methods]) => [
    path,
    methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', '),
  ])
}

// Owns nothing and may do nothing: whoever calls a route without a scope.
const NOBODY: Caller = {
  organisationId: '',
  kind: 'key',
  id: '',
  name: '',
  scopes: [],
  plan: 'enterprise',
  limits: limitsOf('enterprise', {}),
  timezone: 'UTC',
}

function handlerOf(context: ApiContext, route: AnyRoute): RequestHandler {
  return async (request, response) => {
    nameRoute(response, route.path)
    const caller = route.scope ? await admit(context, request, response, { ...route, scope: route.scope }) : NOBODY
    const read = { params: readParams(route, request), query: readQuery(route, request) }
    const reply = await withBody(context, route, { request, response, caller }, (body) =>
      answer(context, route, { request, response, asked: { context, caller, ...read, body } }),
    )
    if (reply.replayed) {
      context.requests.replayed()
      response.set('idempotent-replayed', 'true')
    }
    response.status(reply.status).type('application/json').send(reply.body)
  }
}

interface Exchange {
  request: Request
  response: Response
}

/** Reads the body; the file of an upload is stored before and released after what is done with it. */
async function withBody<T>(
  context: ApiContext,
  route: AnyRoute,
  { request, response, caller }: Exchange & { caller: Caller },
  work: (body: unknown) => Promise<T>,
): Promise<T> {
  if (!route.upload) return work(await readBody(route, request, response))
  const upload = await storeUpload(context, caller, request)
  try {
    request.body = upload.asked
    return await work(parseInput(route.body as z.ZodType, upload.body))
  } finally {
    await upload.release()
  }
}

interface Asked {
  context: ApiContext
  caller: Caller
  params: Record<string, never>
  query: unknown
  body: unknown
}

/** Does what is asked, once where it has an Idempotency-Key. */
async function answer(
  context: ApiContext,
  route: AnyRoute,
  { request, response, asked }: Exchange & { asked: Asked },
): Promise<Reply> {
  const { caller } = asked
  const work = {
    prepare: async (): Promise<unknown> => route.before?.(asked),
    run: async (tx: Transaction, before: unknown) => {
      const result: unknown = await route.handle({ ...asked, tx, before })
      await auditOf(tx, { route, caller, request, response, params: asked.params, result })
      return writeReply(route, result)
    },
  }
  const keyed = readKeyedRequest(route, request, caller)
  const reply = keyed ? await context.onlyOnce.answer(keyed, work) : await doOnce(context, route, work)
  if (route.crashPoint) context.crash(route.crashPoint)
  if (route.audit) context.relayLoop.nudge()
  return reply
}

async function admit(
  context: ApiContext,
  request: Request,
  response: Response,
  { scope, anyPlan }: { scope: Scope; anyPlan?: true },
): Promise<Caller> {
  const caller = await authenticate(context, request.headers)
  await context.rateLimiter.admit(caller, response)
  if (!anyPlan) requireFeature(caller, 'api')
  requireScope(caller, scope)
  return caller
}

// What is read in several statements must fit together.
const ONE_SNAPSHOT = 'isolation level repeatable read read only'

async function doOnce(
  { database }: ApiContext,
  route: AnyRoute,
  { prepare, run }: { prepare(): Promise<unknown>; run(tx: Transaction, before: unknown): Promise<FreshReply> },
) {
  const prepared = await prepare()
  return { ...(await database.begin(route.audit ? '' : ONE_SNAPSHOT, (tx) => run(tx, prepared))), replayed: false }
}

function writeReply({ responds, toldOnce }: AnyRoute, result: unknown): FreshReply {
  const write = (data: unknown) =>
    JSON.stringify(responds.meta ? data : responds.pages ? writePage(data as Page<unknown>) : writeData(data))
  const body = write(result)
  const untold = Object.fromEntries((toldOnce ?? []).map((name) => [name, null]))
  return { status: responds.status, body, kept: toldOnce ? write({ ...(result as object), ...untold }) : body }
}

/** A list that has no pages is its own last one. */
function writeData(data: unknown) {
  return Array.isArray(data) ? writePage({ rows: data, nextCursor: null }) : { data, meta: {} }
}

function writePage({ rows, nextCursor }: Page<unknown>) {
  return { data: rows, meta: { next_cursor: nextCursor, has_more: nextCursor !== null } }
}

/** A malformed id in a path is an id that does not exist. */
function readParams(route: AnyRoute, request: Request): Record<string, never> {
  const parsed = z.object((route.params as z.ZodRawShape | undefined) ?? {}).safeParse(request.params)
  if (!parsed.success) throw notFound()
  return parsed.data as Record<string, never>
}

async function readBody(route: AnyRoute, request: Request, response: Response): Promise<unknown> {
  const schema = route.body as z.ZodType | undefined
  const sent = Number(request.headers['content-length'] ?? 0) > 0 || request.headers['transfer-encoding'] !== undefined
  if (!schema && !sent) return undefined
  if (sent && !request.is('json'))
    throw invalid([{ path: '', message: 'Send the body as application/json.' }], 'unsupported_media_type')
  await new Promise<void>((resolve, reject) => {
    parseJson(request, response, (error?: unknown) => (error ? reject(error as Error) : resolve()))
  })
  return parseInput(schema ?? z.strictObject({}), request.body ?? {})
}

function readQuery(route: AnyRoute, request: Request): unknown {
  const { searchParams } = new URL(request.originalUrl, 'http://host')
  const twice = [...searchParams.keys()].find((key) => searchParams.getAll(key).length > 1)
  if (twice !== undefined) throw invalid([{ path: twice, message: 'is given more than once' }])
  return parseInput((route.query as z.ZodType | undefined) ?? z.strictObject({}), Object.fromEntries(searchParams))
}
