import { FormData, request, type Dispatcher } from 'undici'
import type { z } from 'zod'
import type { ErrorCode } from '../../errors.js'
import type { Refusal } from './platform.js'
import { readSpent, readWait } from './rate-headers.js'

/** Why a call to a platform brought nothing.
 *  not_sent: no byte of the request left · refused: the platform answered no · ambiguous: it may have been carried out. */
export type Certainty = 'not_sent' | 'refused' | 'ambiguous'

export interface Failure {
  code: ErrorCode
  certainty: Certainty
  /** Whether a whole answer came, so that the platform is done with the request. */
  answered: boolean
  httpStatus: number | null
  platformMessage: string | null
  retryAfterMs: number | null
  /** The code of the error that kept an answer from coming, as Node names it. */
  cause: string | null
}

const NOTHING_KNOWN = { answered: false, httpStatus: null, platformMessage: null, retryAfterMs: null, cause: null }

/** A call that brought no usable answer. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure'
  readonly failure: Failure

  constructor(message: string, failure: Partial<Failure> & Pick<Failure, 'code' | 'certainty'>) {
    super(message)
    this.failure = { ...NOTHING_KNOWN, ...failure }
  }
}

interface CallOptions {
  headers?: Record<string, string>
  query?: Record<string, string>
  json?: unknown
}

/** Answers that mean "there is none", for `find`. */
type Absent = { status: number; body?: RegExp }[]

/** HTTP bound to one account of one platform. Answers are parsed by the schema given; everything else throws CallFailure. */
export interface PlatformHttp {
  get<T>(path: string, schema: z.ZodType<T>, options?: CallOptions): Promise<T>
  post<T>(path: string, schema: z.ZodType<T>, options?: CallOptions): Promise<T>
  /** A form with a file in it (multipart/form-data). */
  uploadForm<T>(path: string, schema: z.ZodType<T>, form: { file: Blob; fields: Record<string, string> }): Promise<T>
  /** A file as the body, as it is. */
  upload<T>(path: string, schema: z.ZodType<T>, file: { bytes: Uint8Array; contentType: string }): Promise<T>
  /** Like `get` or `post`, and null for an answer that `absent` names. */
  find<T>(
    method: 'GET' | 'POST',
    path: string,
    schema: z.ZodType<T>,
    options: CallOptions & { absent: Absent },
  ): Promise<T | null>
  /** The one request that publishes: commits the attempt as `sent` before its first byte, and refuses a second. */
  publish<T>(path: string, schema: z.ZodType<T>, options?: CallOptions): Promise<T>
}

interface Binding {
  origin: string
  headers?: Record<string, string>
  refusals: readonly Refusal[]
  client: Dispatcher
  timeoutMs: number
  signal?: AbortSignal
  /** Commits `sent`; throws CallFailure `not_sent` where this attempt may no longer send. Without it, publishing is refused. */
  beforePublish?: (() => Promise<void>) | undefined
  /** Told when the answer to the guarded request, or a 429 to another, says that nothing more will be taken for so many milliseconds. */
  onLimit?: ((ms: number) => void) | undefined
}

const LONGEST_ANSWER = 1_000_000
const EXCERPT = 500
const GATEWAY: ReadonlySet<number> = new Set([502, 503, 504])

// Failures of resolving, connecting and TLS: the request was not begun.
const NOT_BEGUN =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|EGRESS_REFUSED|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_)/

/** Binds HTTP to an origin, its headers and its refusal table. */
export function createPlatformHttp(binding: Binding): PlatformHttp {
  let published = false
  const call = <T>(
    method: 'GET' | 'POST',
    path: string,
    schema: z.ZodType<T>,
    options: CallOptions & { guarded?: boolean; file?: Uint8Array | FormData } = {},
  ) => exchange(binding, { method, path, ...options }).then((answer) => readAnswer(answer, schema, binding.refusals))
  return {
    get: (path, schema, options) => call('GET', path, schema, options),
    post: (path, schema, options) => call('POST', path, schema, options),
    uploadForm: (path, schema, { file, fields }) => {
      const form = new FormData()
      for (const [name, value] of Object.entries(fields)) form.set(name, value)
      form.set('file', file, 'file')
      return call('POST', path, schema, { file: form })
    },
    upload: (path, schema, { bytes, contentType }) =>
      call('POST', path, schema, { file: bytes, headers: { 'content-type': contentType } }),
    async find(method, path, schema, { absent, ...options }) {
      const answer = await exchange(binding, { method, path, ...options })
      const none = absent.some(({ status, body }) => answer.status === status && (body?.test(answer.text) ?? true))
      return none ? null : readAnswer(answer, schema, binding.refusals)
    },
    async publish(path, schema, options) {
      if (published || !binding.beforePublish) throw new Error('An attempt makes exactly one guarded request')
      published = true
      await binding.beforePublish()
      return call('POST', path, schema, { ...options, guarded: true })
    },
  }
}

interface Answer {
  status: number
  text: string
  /** Its beginning as it may be shown: no credential of the request, nothing that a row cannot hold. */
  excerpt: string
  /** When to ask again, as the platform says it. */
  retryAfterMs: number | null
}

interface Exchange extends CallOptions {
  method: 'GET' | 'POST'
  path: string
  file?: Uint8Array | FormData
  /** It is the one that publishes. */
  guarded?: boolean
}

async function exchange(binding: Binding, { method, path, headers, query, json, file, guarded = false }: Exchange) {
  const signals = [AbortSignal.timeout(binding.timeoutMs), ...(binding.signal ? [binding.signal] : [])]
  try {
    const response = await request(new URL(path, binding.origin), {
      method,
      dispatcher: binding.client,
      signal: AbortSignal.any(signals),
      ...(query && { query }),
      headers: {
        accept: 'application/json',
        ...binding.headers,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(file && { body: file }),
    })
    // Limits are often those of one address: what a sign-in or a question has left says nothing of publishing.
    const spent = guarded || response.statusCode === 429 ? readSpent(response.statusCode, response.headers) : null
    if (spent !== null) binding.onLimit?.(spent)
    const text = await readText(response.body)
    const excerpt = makeExcerpt(text, [
      binding.headers?.['authorization'],
      headers?.['authorization'],
      (json as { password?: string })?.password,
    ])
    return { status: response.statusCode, text, excerpt, retryAfterMs: readWait(response.headers) }
  } catch (error) {
    throw unanswered(error, binding.timeoutMs)
  }
}

function makeExcerpt(text: string, credentials: (string | undefined)[]): string {
  const secrets = credentials.flatMap((credential) => credential?.replace(/^(Bearer|Basic) /, '') || [])
  const clean = secrets.reduce((shown, secret) => shown.replaceAll(secret, '[redacted]'), text)
  return clean.slice(0, EXCERPT).toWellFormed().replaceAll('\0', '')
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > LONGEST_ANSWER)
      throw new CallFailure('The answer is too long', { code: 'platform_error', certainty: 'ambiguous' })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function unanswered(error: unknown, timeoutMs: number): CallFailure {
  if (error instanceof CallFailure) return error
  const { name, code: raw } = error as { name?: string; code?: unknown }
  const late = name === 'TimeoutError'
  const code = late ? name : String(raw ?? '')
  const certainty = NOT_BEGUN.test(code) ? 'not_sent' : 'ambiguous'
  const message = error instanceof Error ? error.message : String(error)
  return new CallFailure(message, {
    code: 'platform_unavailable',
    certainty,
    platformMessage:
      code === 'EGRESS_REFUSED'
        ? message
        : late
          ? `No answer within ${timeoutMs / 1000} s`
          : `No answer (${code || message})`,
    cause: code || null,
  })
}

function readAnswer<T>(
  { status, text, excerpt, retryAfterMs }: Answer,
  schema: z.ZodType<T>,
  refusals: readonly Refusal[],
): T {
  const body = parseJson(text)
  if (status >= 200 && status < 300) {
    const parsed = schema.safeParse(body)
    if (parsed.success) return parsed.data
  }
  const row = refusals.find((refusal) => refusal.status === status && (refusal.body?.test(text) ?? true))
  // Only a refusal that can be read is a refusal: a page of HTML or a 5xx may come from something in between. Some refuse inside a 200.
  const inside = status < 300 && row !== undefined
  const definite =
    status === 429 || row?.bare === true || (body !== undefined && (inside || (status >= 400 && status < 500)))
  throw new CallFailure(`The platform answered ${status}`, {
    code: row?.code ?? codeOfStatus(status),
    certainty: definite ? 'refused' : 'ambiguous',
    // Such an answer may come from something in between, while the request is still under way behind it.
    answered: body !== undefined && !GATEWAY.has(status),
    httpStatus: status,
    platformMessage: excerpt || null,
    retryAfterMs,
  })
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 429) return 'rate_limited'
  if (status === 401) return 'auth_expired'
  if (status === 502 || status === 503 || status === 504) return 'platform_unavailable'
  return 'platform_error'
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // told from a body that is JSON by the caller: there is no JSON `undefined`
  }
}

/** Runs an adapter's function and tells what it brought: its value, or the failure. An error of our own (a bug in an adapter) is
 *  `platform_error`, ambiguous once the guarded request may have left. */
export async function settleCall<T>(
  run: () => Promise<T>,
  mayHaveSent: () => boolean = () => false,
): Promise<{ value: T } | { failure: Failure; error: unknown }> {
  try {
    return { value: await run() }
  } catch (error) {
    if (error instanceof CallFailure) return { failure: error.failure, error }
    const certainty = mayHaveSent() ? 'ambiguous' : 'not_sent'
    return { failure: new CallFailure(String(error), { code: 'platform_error', certainty }).failure, error }
  }
}
