import { z } from 'zod'
import { ERRORS } from '../src/errors.js'
import type { AnyRoute } from './http/route.js'

type Schema = Record<string, unknown>

const ErrorBody = z
  .strictObject({
    error: z.strictObject({
      code: z.enum(Object.keys(ERRORS) as [keyof typeof ERRORS]),
      message: z.string(),
      details: z.record(z.string(), z.unknown()),
    }),
  })
  .meta({ id: 'Error' })

const PageMeta = z.strictObject({ next_cursor: z.string().nullable(), has_more: z.boolean() })
const PlainMeta = z.strictObject({})

const MEANING: Record<string, string> = {
  401: 'No key, or one that is not valid',
  402: 'The plan does not carry this',
  403: 'The key lacks the scope',
  404: 'There is no such resource in the organisation',
  405: 'The path has no such method; `Allow` lists those it has',
  409: 'In conflict with how things stand',
  422: 'The request cannot be used; `details` says what to fix',
  429: 'Too many requests',
  500: 'A fault on our side',
  503: 'Something needed does not answer; try again',
}

/** The OpenAPI 3.1 document of a list of routes, made from the schemas that also validate. */
export function describeRoutes(routes: readonly AnyRoute[]) {
  const schemas: Record<string, Schema> = {}
  const describe = (schema: z.ZodType, io: 'input' | 'output'): Schema => {
    const {
      $schema: _dialect,
      $defs = {},
      ...rest
    } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Schema & { $defs?: Record<string, Schema> }
    for (const [id, definition] of Object.entries($defs)) schemas[id] = atComponents(definition)
    return atComponents(rest)
  }
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method]: describeRoute(route, describe) }
  return {
    openapi: '3.1.0',
    info: { title: 'Relay', version: '0.2.0', description: 'Publishes one post to many social platforms.' },
    security: [{ bearer: [] }, { key: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    },
  }
}

function atComponents(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('#/$defs/', '#/components/schemas/')) as Schema
}

type Describe = (schema: z.ZodType, io: 'input' | 'output') => Schema

interface Operation extends Schema {
  responses: Schema
}

function describeRoute(route: AnyRoute, describe: Describe): Operation {
  const { method, path, summary, scope, body, responds } = route
  const meta = (responds.meta as z.ZodType | undefined) ?? (responds.data instanceof z.ZodArray ? PageMeta : PlainMeta)
  const success = z.strictObject({ data: responds.data as z.ZodType, meta })
  return {
    operationId: operationId(method, path),
    summary,
    ...(scope ? { 'x-required-scope': scope } : { security: [] }),
    ...(route.additive && { 'x-additive': true }),
    parameters: [
      ...parametersOf(route.params, 'path', describe),
      ...parametersOf((route.query as z.ZodObject | undefined)?.shape, 'query', describe),
    ],
    ...(body && { requestBody: { required: true, content: contentOf(route, describe(body as z.ZodType, 'input')) } }),
    responses: {
      [responds.status]: { description: summary, content: json(describe(success, 'output')) },
      ...Object.fromEntries(
        failuresOf(route).map((status) => [
          status,
          { description: MEANING[status], content: json(describe(z.object({ e: ErrorBody }), 'output'), 'e') },
        ]),
      ),
    },
  }
}

function contentOf({ upload }: AnyRoute, schema: Schema): Schema {
  return upload ? { 'multipart/form-data': { schema } } : json(schema)
}

/** `e` picks one property, so that its schema is named and referred to. */
function json(schema: Schema, e?: string): Schema {
  const { properties } = schema as { properties?: Record<string, Schema> }
  return { 'application/json': { schema: e ? properties?.[e] : schema } }
}

function failuresOf({ scope, params, body }: AnyRoute): number[] {
  return [...(scope ? [401, 402, 403] : []), ...(params || body ? [404] : []), 409, 422, 429, 500, 503]
}

function parametersOf(shape: z.ZodRawShape | undefined, where: 'path' | 'query', describe: Describe): Schema[] {
  return Object.entries(shape ?? {}).map(([name, schema]) => ({
    name,
    in: where,
    required: where === 'path',
    schema: describe(schema as z.ZodType, 'input'),
  }))
}

function operationId(method: string, path: string): string {
  const words = path.replace('/v1/', '').replaceAll(/[{}]/g, '').split(/[/_-]/)
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
