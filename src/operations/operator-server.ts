import { createServer, type ServerResponse } from 'node:http'
import { listen } from './listen.js'
import { statusOf, type Readiness } from './readiness.js'

interface OperatorServerOptions {
  at: { host: string; port: number }
  readiness: Readiness
}

/** The port for operators: `/healthz` says that the process lives, `/readyz` whether it should get work. Loopback by default. */
export async function startOperatorServer({ at, readiness }: OperatorServerOptions): Promise<{
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
  }
  const server = createServer((request, response) => {
    const page = request.method === 'GET' ? pages[request.url?.replace(/\?.*$/s, '') ?? ''] : undefined
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
