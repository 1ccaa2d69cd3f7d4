import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Tenant } from './app.js'

/** A platform on a wire of its own that accepts every post and answers when it is let go: what calls are under way, and what arrived. */
export class FakeBluesky {
  /** Texts in the order they came. */
  readonly received: string[] = []
  underWay = 0
  most = 0
  private readonly held: (() => void)[] = []
  private holding = true

  private readonly server = createServer((request, response) => void this.answer(request, response))

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
  }

  /** As `EGRESS_ALLOW` wants it. */
  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Answers all that wait, and everything from now on at once. */
  letGo(): void {
    this.holding = false
    for (const answer of this.held.splice(0)) answer()
  }

  async connect(tenant: Tenant): Promise<string> {
    const fields = { service: `http://${this.host}`, identifier: 'a.test', app_password: 'x' }
    const { body } = await tenant.call<{ id: string }>('POST', '/v1/connections', { platform: 'bluesky', fields })
    return body.data.id
  }

  stop(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const reply = (answer: object) =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    if (!request.url?.includes('com.atproto.repo.createRecord'))
      return reply({ did: 'did:plc:a', handle: 'a.test', accessJwt: 'a', refreshJwt: 'r' })
    this.received.push((JSON.parse(body) as { record: { text: string } }).record.text)
    this.most = Math.max(this.most, ++this.underWay)
    if (this.holding) await new Promise<void>((resolve) => this.held.push(resolve))
    this.underWay--
    reply({ uri: 'at://x', cid: 'c' })
  }
}
