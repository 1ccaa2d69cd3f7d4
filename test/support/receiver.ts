import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { EndpointWithSecret } from '../../src/webhooks/endpoints/schema.js'
import type { Tenant } from './app.js'
import { until } from './until.js'

/** One request as it arrived. */
export interface Received {
  path: string
  headers: IncomingHttpHeaders
  raw: Buffer
  event: { id: string; type: string; created_at: string; data: Record<string, unknown> }
  at: number
}

type Answer = (response: ServerResponse, received: Received) => void

/** A receiver of webhooks on a wire of its own; each path of it is an endpoint and answers 204 until it is told otherwise. */
export class Receiver {
  readonly received: Received[] = []
  private readonly answers = new Map<string, Answer>()
  private readonly server = createServer((request, response) => void this.take(request, response))

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return this
  }

  /** As `EGRESS_ALLOW` wants it. */
  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  urlOf(path: string): string {
    return `http://${this.host}${path}`
  }

  /** Answers with this status, or as the function does. */
  answer(path: string, answer: number | Answer): void {
    this.answers.set(path, typeof answer === 'number' ? (response) => void response.writeHead(answer).end() : answer)
  }

  at(path: string): Received[] {
    return this.received.filter((each) => each.path === path)
  }

  /** Waits for so many requests to the path. */
  async untilReceived(path: string, count = 1, withinMs?: number): Promise<Received[]> {
    return until(`${count} requests to ${path}`, () => this.at(path).length >= count && this.at(path), withinMs)
  }

  /** Registers the path as an endpoint of the tenant. */
  async register(
    tenant: Tenant,
    path: string,
    events: string[] = ['*'],
  ): Promise<EndpointWithSecret & { secret: string }> {
    const { body } = await tenant.call<EndpointWithSecret>('POST', '/v1/webhooks', { url: this.urlOf(path), events })
    if (!body.data?.secret) throw new Error(JSON.stringify(body))
    return { ...body.data, secret: body.data.secret }
  }

  stop(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await buffer(request)
    const path = request.url ?? ''
    const received = { path, headers: request.headers, raw, event: JSON.parse(raw.toString()), at: Date.now() }
    this.received.push(received)
    const answer = this.answers.get(path)
    if (answer) answer(response, received)
    else response.writeHead(204).end()
  }
}
