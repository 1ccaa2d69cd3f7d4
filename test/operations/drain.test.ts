import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { startHttpServer } from '../../api/http/server.js'
import { startNodeProcess } from '../../tools/stack/node-process.js'
import { freePort } from '../../tools/stack/ports.js'
import { startApp, type App } from '../support/app.js'
import { countWaiting } from '../support/lock-holder.js'
import { until } from '../support/until.js'

/** A raw connection that stays open, and everything that came over it. */
async function openLine(port: number): Promise<{ socket: Socket; read: () => string; closed: Promise<void> }> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise((resolve) => socket.once('connect', resolve))
  return { socket, read: () => text, closed }
}

const ask = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`
const exitOf = (child: App['api']) =>
  until('it has ended', () => child?.process.exitCode !== null && child?.process).then((it) => it?.exitCode)

describe('an api that is asked to end', () => {
  let app: App
  beforeEach(async () => {
    app = await startApp({ worker: false })
  })
  afterEach(() => app.stop())

  test('is unready first and goes on serving, then ends with 0; connections kept alive do not hold it up', async () => {
    const api = await app.startApi({ PORT: String(await freePort()), DRAIN_MS: '3000' })
    const port = Number(api.facts['port'])
    const idle = await openLine(port)
    idle.socket.write(ask('/healthz'))
    await until('it was answered', () => idle.read().includes('"ok"'))
    expect(idle.read()).toMatch(/connection: keep-alive/i)

    const begun = performance.now()
    api.kill('SIGTERM')
    const draining = await until('it is unready', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
      return answer.status === 503 && answer
    })
    expect(await draining.json()).toEqual({ status: 'draining', checks: {} })
    expect(draining.headers.get('retry-after')).toBe('1')
    expect(draining.headers.get('connection')).toBe('close')
    expect((await fetch(`http://127.0.0.1:${port}/v1/platforms`)).status).toBe(200)
    expect(await exitOf(api)).toBe(0)
    expect(performance.now() - begun).toBeGreaterThanOrEqual(3_000)
    await idle.closed
  })

  test('answers a request under way, and ends with 0', async () => {
    const api = app.api!
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    let letGo = () => undefined as void
    const held = new Promise<void>((resolve) => (letGo = resolve))
    let holding: Promise<unknown> | undefined
    await new Promise<void>((locked) => {
      holding = app.sql.begin(async (tx) => {
        await tx`select from connections where id = ${connection} for update`
        locked()
        await held
      })
    })
    const slow = tenant.call('PATCH', `/v1/connections/${connection}`, { metadata: { a: 1 } })
    await until('it waits for the lock', async () => (await countWaiting(app.sql, { of: 'api' })) === 1)
    api.kill('SIGTERM')
    await until('nothing new is taken', () =>
      fetch(`${app.url}/healthz`).then(
        () => false,
        () => true,
      ),
    )
    expect(api.process.exitCode).toBeNull()
    letGo()
    await holding
    const answer = await slow
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close'])
    expect(await exitOf(api)).toBe(0)
  })
})

test('a worker that is asked to end while it publishes: the delivery succeeds, once, by its first attempt', async () => {
  const app = await startApp({ env: { CALL_TIMEOUT_MS: '10000' } })
  try {
    const worker = app.worker!
    const tenant = await app.tenant()
    const text = 'last words [sandbox:slow=3]'
    const { id } = await tenant.post(text, [await tenant.connect()])
    await until('the platform has it', async () => (await app.timesAccepted(text)) === 1)
    worker.kill('SIGTERM')
    const readyz = `http://127.0.0.1:${String(worker.facts['metricsPort'])}/readyz`
    const draining = await until('it is unready', () => fetch(readyz).then((it) => it.status === 503 && it))
    expect(await draining.json()).toEqual({ status: 'draining', checks: {} })
    expect(await exitOf(worker)).toBe(0)
    // No other worker runs, so it was this one that saw it through.
    const post = await tenant.read(id)
    expect(post.status).toBe('published')
    const attempts = await tenant.attempts(post.deliveries[0]!)
    expect(attempts.map(({ state, look_up }) => [state, look_up])).toEqual([['accepted', null]])
    expect(await app.timesAccepted(text)).toBe(1)
  } finally {
    await app.stop()
  }
})

describe('the http server', () => {
  const patience = { headersTimeout: 300, requestTimeout: 600, uploadTimeout: 1_200, keepAliveTimeout: 65_000 }
  const start = (listener: Parameters<typeof createServer>[1] = () => undefined) =>
    startHttpServer(listener as Parameters<typeof startHttpServer>[0], { host: '127.0.0.1', port: 0, patience })

  test.each([
    ['headers', 'GET / HTTP/1.1\r\nhost:'],
    ['a body', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf'],
    ['a form', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data\r\ncontent-length: 10\r\n\r\nhalf'],
  ])('gives up a client that never finishes its %s', async (_what, sent) => {
    const server = await start()
    const line = await openLine(server.port)
    line.socket.write(sent)
    await line.closed
    expect(line.read()).toContain('408 Request Timeout')
    await server.stop({ drainMs: 0, lastMs: 0 })
  })

  test('cuts what does not finish in the time that is left', async () => {
    const server = await start()
    const line = await openLine(server.port)
    line.socket.write(ask('/'))
    const stopping = server.stop({ drainMs: 0, lastMs: 100 })
    await Promise.all([stopping, line.closed])
    expect(line.read()).toBe('')
  })

  test('says in one sentence that its port is taken', async () => {
    const taken: Server = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    const app = () => undefined
    await expect(startHttpServer(app, { host: '127.0.0.1', port })).rejects.toThrow(
      /^Port \d+ is already in use; .*set PORT/,
    )
    await new Promise((resolve) => taken.close(resolve))
  })
})

test('an end that takes too long is cut short, with 1', async () => {
  const lines: string[] = []
  const script = fileURLToPath(new URL('../support/never-ends.ts', import.meta.url))
  const child = await startNodeProcess({ name: 'never ends', script, env: {}, onLine: (line) => lines.push(line) })
  child.kill('SIGTERM')
  expect(await exitOf(child)).toBe(1)
  await until('it has said so', () => lines.includes('Did not end in good order within 0.2 s.'))
})
