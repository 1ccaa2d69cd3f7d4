import { once } from 'node:events'
import {
  createServer,
  request as sendRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export interface Answer {
  status: number
  headers?: IncomingHttpHeaders
  body?: string | Buffer
}

export interface Fault {
  /** Tried on path and query. */
  path: RegExp
  /** How many requests it meets before it is used up. Default 1. */
  times?: number
  /** Whether the request reaches the target first. */
  forward: boolean
  /** What the client gets: this answer, silence with the line open, a line cut without a byte, or what the target answered, so that only the next
   *  fault meets somebody. */
  reply: Answer | 'hold' | 'cut' | 'pass'
}

type Reply = Exclude<Fault['reply'], 'pass'>

export interface ProxiedRequest {
  method: string
  /** With its query. */
  path: string
  /** Set before the bytes leave for the target. */
  forwarded: boolean
  /** What the target answered; null until then. */
  targetStatus: number | null
  /** What the client was answered; null as long as nothing was. */
  status: number | null
}

export interface FaultyProxy {
  url: string
  /** Push to it; the first that matches a request is used. Empty it to call the rest off. */
  faults: Fault[]
  /** Every request so far, in order of arrival. */
  requests: ProxiedRequest[]
  /** Cuts what is still open. */
  stop(): Promise<void>
}

const json = { 'content-type': 'application/json; charset=utf-8' }
const html = { 'content-type': 'text/html; charset=utf-8' }

const rateLimitExceeded = '{"error":"RateLimitExceeded","message":"Rate Limit Exceeded"}'

/** Answers worth being given. */
export const ANSWERS = {
  serverError: {
    status: 500,
    headers: json,
    body: '{"error":"InternalServerError","message":"Internal Server Error"}',
  },
  badGatewayPage: { status: 502, headers: html, body: '<html><body><h1>502 Bad Gateway</h1></body></html>' },
  /** As a captive portal or a parked domain has it. */
  welcomePage: { status: 200, headers: html, body: '<html><body><h1>Welcome</h1></body></html>' },
  /** As a gateway in front of a PDS has it. */
  rateLimited: (retryAfterSeconds: number) => ({
    status: 429,
    headers: { ...json, 'retry-after': String(retryAfterSeconds) },
    body: rateLimitExceeded,
  }),
  /** As a PDS itself has it: no Retry-After, and a reset in seconds since 1970. */
  rateLimitedUntil: (resetAt: number) => ({
    status: 429,
    headers: {
      ...json,
      'ratelimit-limit': '3000',
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(resetAt),
      'ratelimit-policy': '3000;w=300',
    },
    body: rateLimitExceeded,
  }),
  redirect: (location: string) => ({ status: 307, headers: { location } }),
} satisfies Record<string, Answer | ((value: never) => Answer)>

/** Passes requests on to `target` (an http origin without a path) on a free port of loopback, except where a fault says otherwise. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const faults: Fault[] = []
  const requests: ProxiedRequest[] = []
  const server = createServer((request, response) => void relay(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/' } = request
    const seen: ProxiedRequest = { method, path, forwarded: false, targetStatus: null, status: null }
    requests.push(seen)
    const fault = takeFault(faults, path)
    try {
      const body = await buffer(request)
      let reply: Reply = 'cut'
      if (!fault || fault.forward) {
        seen.forwarded = true
        reply = await forward(target, { method, path, headers: request.headers, body })
        seen.targetStatus = reply.status
      }
      const passes = !fault || fault.reply === 'pass'
      send(response, seen, passes ? withOrigin(reply, target, url) : fault.reply)
    } catch {
      // The target is gone or the client is: the other side sees a cut line, as without us between them.
      response.destroy()
    }
  }

  return {
    url,
    faults,
    requests,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function takeFault(faults: Fault[], path: string): Fault | undefined {
  const index = faults.findIndex((fault) => fault.path.test(path))
  const fault = faults[index]
  if (!fault) return undefined

  fault.times = (fault.times ?? 1) - 1
  if (fault.times <= 0) faults.splice(index, 1)
  return fault
}

interface Forwarded {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

async function forward(target: string, asked: Forwarded): Promise<Answer> {
  const { method, path, headers, body } = asked
  const outgoing = sendRequest(new URL(path, target), {
    method,
    agent: false,
    headers: { ...endToEnd(headers), 'accept-encoding': 'identity', 'content-length': body.length },
  })
  // A target may answer before it has read all (413) and hang up: the failing write no longer matters then.
  // Until the answer is there, `once` below throws it.
  outgoing.on('error', () => undefined)
  outgoing.end(body)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: incoming.statusCode ?? 502, headers: incoming.headers, body: await buffer(incoming) }
}

/** Those that are not about one connection or one length of body. */
function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const own = ['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length']
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !own.includes(name)))
}

/** A DID document names the target; a client that follows it must come back to us. */
function withOrigin(reply: Reply, target: string, url: string): Reply {
  if (typeof reply === 'string' || !reply.headers?.['content-type']?.includes('json')) return reply
  return { ...reply, body: String(reply.body).replaceAll(target, url) }
}

function send(response: ServerResponse, seen: ProxiedRequest, reply: Fault['reply']): void {
  if (reply === 'pass') throw new Error('There is nothing to pass on')
  if (reply === 'hold') return
  if (reply === 'cut') return void response.destroy()

  const { status, headers = {}, body = '' } = reply
  seen.status = status
  response.writeHead(status, { ...endToEnd(headers), 'content-length': Buffer.byteLength(body) }).end(body)
}
