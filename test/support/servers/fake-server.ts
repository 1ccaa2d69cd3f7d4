import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Asked {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: string
}

/** What a platform's server keeps of a post: the judge of lost and doubled. */
export interface Landed {
  id: string
  text: string
  replyTo: string | null
  /** The descriptions of its media. */
  media?: (string | null)[]
}

export interface FakeServer {
  url: string
  landed: Landed[]
  stop(): void
}

/** A closed platform's server, as far as its documents tell how it answers. */
export async function startFakeServer(
  answer: (asked: Asked, landed: Landed[]) => { status: number; body: unknown },
): Promise<FakeServer> {
  const landed: Landed[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
      const asked = {
        method: request.method ?? '',
        path: pathname,
        query: searchParams,
        headers: request.headers,
        body,
      }
      const { status, body: reply } = answer(asked, landed)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    landed,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
