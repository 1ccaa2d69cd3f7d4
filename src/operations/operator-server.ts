import { createServer, type ServerResponse } from 'node:http'
import { listen } from './listen.js'
import type { Exposition } from './metrics.js'
import { statusOf, type Readiness } from './readiness.js'

interface OperatorServerOptions {
  at: { host: string; port: number }
  readiness: Readiness
  metrics: { expose(): Promise<Exposition> }
}

/** The port for operators: `/metrics` for Prometheus, `/healthz` says that the process lives, `/readyz` whether it should get work. Loopback by default. */
export async function startOperatorServer({ at, readiness, metrics }: OperatorServerOptions): Promise<{
  port: number
  stop(): Promise<void>
}> {
  const pages: Record<string, (response: ServerResponse) => Promise<void>> = {
    '/healthz': async (response) => answerJson(response, 200, { status: 'ok' }),
    '/readyz': async (response) => {
      const answer = await readiness.answer()
      const { code, headers } = statusOf(answer)
      answerJson(response, code, answer, headers)
    },
    '/metrics': async (response) => {
      const { contentType, text } = await metrics.expose()
      response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text)
    },
  }
  const pageOf = (url = '') => pages[url.replace(/\?.*$/s, '')]
  const server = createServer((request, response) => {
    const page = request.method === 'GET' ? pageOf(request.url) : undefined
    if (!page) return answerJson(response, 404, { status: 'not_found' })
    page(response).catch((error: unknown) => response.destroy(error as Error))
  })
  const port = await listen(server, { ...at, variable: 'METRICS_PORT' })
  return {
    port,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function answerJson(response: ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(code, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers })
  response.end(JSON.stringify(body))
}
