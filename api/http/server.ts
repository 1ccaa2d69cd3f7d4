import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { listen } from '../../src/operations/listen.js'

/** How long a client may take for what, in milliseconds (reliability.md 2.12); `uploadTimeout` for a request with a form. */
const PATIENCE = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  uploadTimeout: 30 * 60_000,
  keepAliveTimeout: 65_000,
}
const LOOK_EVERY_MS = 1_000

interface HttpServer {
  port: number
  /** Goes on serving for `drainMs`, then takes nothing new and lets what is under way finish, `lastMs` at most; then cuts. */
  stop(times: { drainMs: number; lastMs: number }): Promise<void>
}

/** Opens the port of the API. Throws one sentence when it is taken. */
export async function startHttpServer(
  app: RequestListener,
  {
    patience: { requestTimeout, uploadTimeout, ...patience } = PATIENCE,
    ...at
  }: { host: string; port: number; patience?: typeof PATIENCE },
): Promise<HttpServer> {
  const underWay = new Set<ServerResponse>()
  let stopping = false
  // The server knows one time for all requests; which of them are uploads is told by their headers.
  const options = { ...patience, requestTimeout: uploadTimeout, connectionsCheckingInterval: LOOK_EVERY_MS }
  const server = createServer(options, (request, response) => {
    underWay.add(response)
    const slow = isUpload(request) ? undefined : setTimeout(() => giveUp(request), requestTimeout)
    response.once('close', () => {
      clearTimeout(slow)
      underWay.delete(response)
    })
    if (stopping) sayLast(response)
    app(request, response)
  })
  const port = await listen(server, { ...at, variable: 'PORT' })
  return {
    port,
    async stop({ drainMs, lastMs }) {
      stopping = true
      underWay.forEach(sayLast)
      await sleep(drainMs)
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      const cut = setTimeout(() => server.closeAllConnections(), lastMs)
      await closed
      clearTimeout(cut)
    },
  }
}

const isUpload = ({ headers }: IncomingMessage) => /^multipart\/form-data/i.test(headers['content-type'] ?? '')

/** Ends a request whose body did not arrive in time, as the server itself would. */
function giveUp({ complete, socket }: IncomingMessage): void {
  if (!complete) socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n', () => socket.destroy())
}

/** Tells a client that keeps its connection alive to take another one next time. */
function sayLast(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}
