import type { z } from 'zod'
import type { Caller, Scope } from '../../src/accounts/schema.js'
import type { CrashPoint } from '../../src/crash-points.js'
import type { Transaction } from '../../src/db/client.js'
import type { Page } from '../../src/db/page.js'
import type { AuditAction } from '../../src/audit/schema.js'
import type { ApiContext } from '../context.js'

type Shape = Record<string, z.ZodType>
type Output<S> = S extends z.ZodType<infer T> ? T : undefined
type Params<S> = S extends Shape ? { [K in keyof S]: z.infer<S[K]> } : Record<string, never>

/** What a handler works with. */
interface Request<P, Q, B, Before> {
  tx: Transaction
  context: ApiContext
  /** Nobody's on a route without a scope. */
  caller: Caller
  params: Params<P>
  query: Output<Q>
  body: Output<B>
  before: Before
}

/** A route that changes something says as which action it is written down, with the id in its path or of what it answers; null for one that writes
 *  nothing, as no GET does: its transaction cannot. */
type Audited = { method: 'get'; audit?: undefined } | { method: 'post' | 'patch' | 'delete'; audit: AuditAction | null }

/** One route: read a list of them and you know the product. Validation, errors and documents come from its schemas. */
export type Route<
  P extends Shape | undefined,
  Q extends z.ZodType | undefined,
  B extends z.ZodType | undefined,
  R extends z.ZodType,
  L extends boolean,
  Before,
  M extends z.ZodType | undefined,
> = Audited & RouteParts<P, Q, B, R, L, Before, M>

interface RouteParts<
  P extends Shape | undefined,
  Q extends z.ZodType | undefined,
  B extends z.ZodType | undefined,
  R extends z.ZodType,
  L extends boolean,
  Before,
  M extends z.ZodType | undefined,
> {
  /** As OpenAPI writes it: `/v1/posts/{id}`. */
  path: string
  summary: string
  /** Not in the spec: `x-additive` in the document. */
  additive?: true
  /** Null: no credential needed. */
  scope: Scope | null
  params?: P
  /** Its parameters as strings; anything else in a query is refused. */
  query?: Q
  body?: B
  /** Its body is a form (multipart/form-data) whose file is stored before the transaction; `body` gets the fields and the stored file. */
  upload?: true
  /** Also for a key whose plan has no API access. */
  anyPlan?: true
  /** The status of success and the shape of its `data`; of its `meta` where there is something to say. */
  responds: { status: 200 | 202; data: R; pages?: L; meta?: M }
  /** Top-level keys of its answer that are told once: a reply kept for an Idempotency-Key has null there (shapes.md 0). */
  toldOnce?: readonly (keyof z.infer<R> & string)[]
  /** For a route that must ask a platform: runs outside any transaction and is repeatable; its result enters the transaction. */
  before?(request: Omit<Request<P, Q, B, Before>, 'tx' | 'before'>): Promise<Before>
  /** One use case, in the request's transaction; throws AppError. */
  handle(
    request: Request<P, Q, B, Before>,
  ): Promise<
    M extends z.ZodType
      ? { data: z.infer<R>; meta: z.infer<M> }
      : L extends true
        ? Page<z.infer<R> extends (infer T)[] ? T : never>
        : z.infer<R>
  >
  /** Where a test may kill the process once the transaction has committed. */
  crashPoint?: CrashPoint
}

/** A route of any shape, as lists hold it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- each route is checked against its own schemas where it is made
export type AnyRoute = Route<any, any, any, any, any, any, any>

/** Declares a route; its types follow from its schemas. With `pages`, the handler answers a Page of `data`. */
export function route<
  P extends Shape | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  R extends z.ZodType = z.ZodType,
  L extends boolean = false,
  Before = undefined,
  M extends z.ZodType | undefined = undefined,
>(definition: Route<P, Q, B, R, L, Before, M>): Route<P, Q, B, R, L, Before, M> {
  return definition
}
