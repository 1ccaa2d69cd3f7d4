import type { Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { EndpointWithSecret } from '../../src/webhooks/endpoints/schema.js'
import { startApp, type App, type Tenant } from '../support/app.js'
import { sendTest, untilAttempted } from '../support/hooks.js'
import { startRawReceiver, type Script } from '../support/raw-receiver.js'
import { until } from '../support/until.js'

const TIMEOUT_MS = 1_500
const OK = 'HTTP/1.1 200 OK\r\n'

/** A byte of the text every 50 ms, for as long as the other side listens. */
function drip(socket: Socket, text: string): void {
  let at = 0
  const timer = setInterval(() => socket.write(text[at++ % text.length]!), 50)
  socket.on('close', () => clearInterval(timer))
}

function flood(socket: Socket): void {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const more = () => {
    while (!socket.destroyed && socket.write(chunk)) continue
  }
  socket.on('drain', more)
  more()
}

const bomb = gzipSync(Buffer.alloc(50_000_000, 'z'))

interface Expected {
  status: number | null
  error: RegExp | null
  excerpt?: RegExp
}

const SCRIPTS: Record<string, [Script, Expected]> = {
  'accepts and is silent': [() => undefined, { status: null, error: /no answer within 1.5 s/ }],
  'drips its head': [(socket) => drip(socket, 'HTTP/1.1 200 OK'), { status: null, error: /no answer within 1.5 s/ }],
  'answers and drips its body': [
    (socket) => {
      socket.write(`${OK}content-length: 100000\r\n\r\n`)
      drip(socket, 'y')
    },
    { status: 200, error: null, excerpt: /^y{5,60}$/ },
  ],
  'never stops talking': [
    (socket) => {
      socket.write(`${OK}transfer-encoding: identity\r\n\r\n`)
      flood(socket)
    },
    { status: 200, error: null, excerpt: /^x{4096}$/ },
  ],
  'sends a gzip bomb': [
    (socket) => {
      socket.write(`${OK}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`)
      socket.write(bomb)
    },
    { status: 200, error: null, excerpt: /^(?!.*zzzz)/ },
  ],
  'redirects to the metadata of the machine': [
    (socket) =>
      void socket.end('HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest\r\ncontent-length: 0\r\n\r\n'),
    { status: 302, error: /points to http:\/\/169\.254\.169\.254\/latest; redirects are not followed/ },
  ],
  'says 200 and cuts the line': [
    (socket) => {
      socket.write(`${OK}content-length: 1000\r\n\r\nhalf`, () => socket.resetAndDestroy())
    },
    { status: 200, error: null },
  ],
  'cuts the line before it answers': [
    (socket) => void socket.resetAndDestroy(),
    { status: null, error: /connection failed/ },
  ],
  'does not speak HTTP': [
    (socket) => void socket.end('SSH-2.0-OpenSSH\r\n\r\n'),
    { status: null, error: /connection failed/ },
  ],
  'has NUL bytes and a secret in its answer': [
    (socket) => void socket.end(`${OK}content-length: 24\r\n\r\na\0b whsec_${'c'.repeat(14)}`),
    { status: 200, error: null, excerpt: /^ab whsec_\[redacted\]$/ },
  ],
}

let app: App
let tenant: Tenant
const receivers = new Map<string, Awaited<ReturnType<typeof startRawReceiver>>>()
const tls = createTlsServer({})

beforeAll(async () => {
  for (const [name, [script]] of Object.entries(SCRIPTS)) receivers.set(name, await startRawReceiver(script))
  await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve))
  const hosts = [...[...receivers.values()].map(({ host }) => host), tlsHost()]
  app = await startApp({ env: { EGRESS_ALLOW: hosts.join(), WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS) } })
  tenant = await app.tenant()
})
afterAll(async () => {
  for (const receiver of receivers.values()) receiver.stop()
  tls.close()
  await app.stop()
})

const tlsHost = () => `127.0.0.1:${(tls.address() as AddressInfo).port}`

async function attemptAt(url: string) {
  const { body } = await tenant.call<EndpointWithSecret>('POST', '/v1/webhooks', { url, events: ['post.failed'] })
  const id = body.data.id
  return (await untilAttempted(tenant, id, await sendTest(tenant, id))).attempts.at(-1)!
}

test.each(Object.keys(SCRIPTS))('a receiver that %s costs one attempt of bounded time and memory', async (name) => {
  const receiver = receivers.get(name)!
  const [, { status, error, excerpt }] = SCRIPTS[name]!
  const attempt = await attemptAt(`http://${receiver.host}/`)
  expect(attempt.http_status).toBe(status)
  expect(attempt.error ?? '').toMatch(error ?? /^$/)
  if (excerpt) expect(attempt.response_excerpt).toMatch(excerpt)
  expect(attempt.response_excerpt?.length ?? 0).toBeLessThanOrEqual(4096)
  // The socket is gone with the attempt; what was on its way then is all that a talkative one could send.
  await until('the connection is closed', () => receiver.open() === 0)
  expect(receiver.written()).toBeLessThan(16_000_000)
})

test('a line without TLS, or with a TLS that offers no certificate, is not sent over', async () => {
  const plain = receivers.get('does not speak HTTP')!
  for (const host of [plain.host, tlsHost()]) {
    const attempt = await attemptAt(`https://${host}/`)
    expect([attempt.http_status, attempt.error]).toEqual([
      null,
      expect.stringMatching(/TLS connection failed|connection failed/),
    ])
  }
})

test('a name that turned to an inner address after it was registered is not called, and nobody is told which address it was', async () => {
  const victim = await startRawReceiver((socket) => void socket.end(`${OK}\r\n`))
  const { body } = await tenant.call<EndpointWithSecret>('POST', '/v1/webhooks', {
    url: 'https://93.184.216.34/',
    events: ['post.failed'],
  })
  const { id } = body.data
  await app.sql`update webhook_endpoints set url = ${`http://${victim.host}/`} where id = ${id}`
  const { attempts } = await untilAttempted(tenant, id, await sendTest(tenant, id))
  expect([attempts[0]!.http_status, attempts[0]!.error]).toEqual([null, 'The address is not allowed.'])
  expect(victim.connections()).toBe(0)
  victim.stop()
})
