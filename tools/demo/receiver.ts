import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** One signed request as it arrived. */
export interface Received {
  path: string
  verified: boolean
  delivery: string
  body: { id: string; type?: string; text?: string }
}

/** A server of somebody else's that is told of events and takes posts, both signed. */
export interface DemoReceiver {
  host: string
  received: Received[]
  /** What the requests to a path are signed with. */
  secrets: Map<string, string>
  /** How many requests to a path are still answered with a 500, though they are kept. */
  failures: Map<string, number>
  stop(): void
}

/** Starts it on a free port of this machine. */
export async function startReceiver(): Promise<DemoReceiver> {
  const received: Received[] = []
  const secrets = new Map<string, string>()
  const failures = new Map<string, number>()
  const server = createServer((request, response) => {
    void text(request).then((raw) => {
      const { url: path = '/', method, headers } = request
      if (method !== 'POST') return response.writeHead(204).end()
      const verified = verifies(raw, String(headers['x-relay-signature']), secrets.get(path) ?? '')
      const body = JSON.parse(raw) as Received['body']
      received.push({ path, verified, delivery: String(headers['x-relay-delivery']), body })
      const left = failures.get(path) ?? 0
      failures.set(path, Math.max(0, left - 1))
      response
        .writeHead(left > 0 ? 500 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ id: body.id }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, received, secrets, failures, stop }
}

/** The rule of the README: an HMAC over `<t>.<raw body>`, and a time within five minutes. */
function verifies(raw: string, header: string, secret: string): boolean {
  const [, t = '', v1 = ''] = /^t=(\d+),v1=([0-9a-f]{64})/.exec(header) ?? []
  const expected = createHmac('sha256', secret).update(`${t}.${raw}`).digest()
  return (
    Math.abs(Date.now() / 1000 - Number(t)) <= 300 && timingSafeEqual(expected, Buffer.from(v1.padEnd(64, '0'), 'hex'))
  )
}
