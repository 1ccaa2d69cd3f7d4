import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createSecureServer, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.js'
import { createTemporalClient } from '../../temporal/connection.js'
import { startApp } from '../support/app.js'
import { makeAuthority } from '../support/certificates.js'
import { findLeaks } from '../support/leaks.js'
import { startTlsProxy } from '../support/tls-proxy.js'
import { until } from '../support/until.js'
import { startWaiting } from '../support/waiting-process.js'

const HOST = 'temporal.test'
const API_KEY = 'temporal-cloud-key-5f0c3a91'
const UNAUTHENTICATED = '16'

const authority = makeAuthority('Authority of the test')
const server = authority.issue(HOST)
let folder: string
let proxy: Awaited<ReturnType<typeof startTlsProxy>>
/** What a process needs to be let in. */
let env: NodeJS.ProcessEnv

const save = async (name: string, text: string) => {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'relay-tls-'))
  const client = authority.issue('relay')
  proxy = await startTlsProxy(process.env.TEST_TEMPORAL_ADDRESS ?? '', {
    cert: server.certificate,
    key: server.key,
    ca: authority.certificate,
    requestCert: true,
    rejectUnauthorized: true,
  })
  env = {
    TEMPORAL_ADDRESS: proxy.address,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: await save('authority.pem', authority.certificate),
    TEMPORAL_TLS_SERVER_NAME: HOST,
    TEMPORAL_TLS_CLIENT_CERT_PATH: await save('client.pem', client.certificate),
    TEMPORAL_TLS_CLIENT_KEY_PATH: await save('client.key', client.key),
  }
})
afterAll(async () => {
  proxy.stop()
  await rm(folder, { recursive: true })
})

test('by TLS, with a certificate on both sides and a name that is not the host’s, a post is published', async () => {
  const app = await startApp({ env })
  try {
    const tenant = await app.tenant()
    const { id } = await tenant.post('through TLS', [await tenant.connect()])
    expect((await tenant.settled(id)).status).toBe('published')
    const metrics = `http://127.0.0.1:${String(app.worker?.facts['metricsPort'])}`
    for (const url of [app.url, metrics])
      expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ status: 'ready', checks: { temporal: 'ok' } })
    // The client of each, and what the worker polls by.
    expect(proxy.counts().refused).toBe(0)
    expect(proxy.counts().passed).toBeGreaterThanOrEqual(3)
  } finally {
    await app.stop()
  }
})

test.each<[string, RegExp, () => Promise<NodeJS.ProcessEnv>]>([
  [
    'without a certificate of its own',
    // By TLS 1.3 the refusal comes after the handshake: whether it is read before the line breaks is a race.
    /CertificateRequired|BrokenPipe|ConnectionReset/,
    async () => ({ TEMPORAL_TLS_CLIENT_CERT_PATH: undefined, TEMPORAL_TLS_CLIENT_KEY_PATH: undefined }),
  ],
  [
    'where another authority is trusted',
    /UnknownIssuer/,
    async () => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: await save('other.pem', makeAuthority('Other').certificate) }),
  ],
  [
    'where the server’s certificate has another name',
    /NotValidForName/,
    async () => ({ TEMPORAL_TLS_SERVER_NAME: 'other.test' }),
  ],
])(
  '%s the worker says that it waits and is not ready, the api accepts posts, and neither ends',
  async (_what, why, wrong) => {
    const app = await startApp({ worker: false, env: { ...env, ...(await wrong()) } })
    const worker = await startWaiting('worker', app.environment)
    try {
      const line = await until('it says so', () => worker.logs.find((each) => each.includes('start.waiting')))
      expect(JSON.parse(line)).toMatchObject({
        level: 40,
        part: 'temporal',
        error: { message: expect.stringMatching(why) },
      })
      expect(await worker.ask('/readyz')).toMatchObject({
        code: 503,
        status: 'starting',
        checks: { database: 'ok', temporal: 'away', worker: 'away' },
      })
      const tenant = await app.tenant()
      const { id } = await tenant.post('waits', [await tenant.connect()])
      await until('the api is ready without Temporal', async () => (await app.call('GET', '/readyz')).status === 200)
      expect((await tenant.read(id)).status).toBe('queued')
      expect(await app.timesAccepted('waits')).toBe(0)
      expect([worker.lives(), app.api?.process.exitCode]).toEqual([true, null])
    } finally {
      await Promise.all([worker.stop(), app.stop()])
    }
  },
)

describe('with an API key', () => {
  test('every part works as before, and no line of a log, row or history shows it', async () => {
    const app = await startApp({ env: { ...env, TEMPORAL_API_KEY: API_KEY, LOG_LEVEL: 'trace' } })
    try {
      const tenant = await app.tenant()
      const { id } = await tenant.post('keyed', [await tenant.connect()])
      expect((await tenant.settled(id)).status).toBe('published')
      expect(await findLeaks(app, [API_KEY])).toEqual([])
    } finally {
      await app.stop()
    }
  })

  describe('to a server that is not Temporal', () => {
    const seen: IncomingHttpHeaders[] = []
    const answer = { status: '0' }
    const recorder = createSecureServer({ cert: server.certificate, key: server.key })
    let address: string
    beforeAll(async () => {
      recorder.on('stream', (stream, headers) => {
        seen.push(headers)
        stream
          .on('error', () => 'cut by the client')
          .respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true })
        stream.on('wantTrailers', () =>
          stream.sendTrailers({ 'grpc-status': answer.status, 'grpc-message': 'as the test says' }),
        )
        // One empty message: every field is at its default.
        stream.end(Buffer.alloc(answer.status === '0' ? 5 : 0))
      })
      await new Promise<void>((resolve) => recorder.listen(0, '127.0.0.1', resolve))
      address = `127.0.0.1:${(recorder.address() as AddressInfo).port}`
    })
    afterAll(() => recorder.close())

    const about = (name: string) => seen.filter((each) => String(each[':path']).endsWith(`/${name}`))

    test('a check of the client shows the key and the namespace', async () => {
      const { temporal } = readConfig({
        ...env,
        DATABASE_URL: 'postgres://x/y',
        TEMPORAL_ADDRESS: address,
        TEMPORAL_API_KEY: API_KEY,
        TEMPORAL_NAMESPACE: 'relay.a1b2c',
      })
      const client = createTemporalClient(temporal)
      try {
        await client.ping()
        expect(about('DescribeNamespace')).toEqual([
          expect.objectContaining({ authorization: `Bearer ${API_KEY}`, 'temporal-namespace': 'relay.a1b2c' }),
        ])
      } finally {
        await client.close()
      }
    })

    test('one that refuses the key keeps the worker waiting, which tells why and not what it showed', async () => {
      seen.length = 0
      answer.status = UNAUTHENTICATED
      const wrong = { ...env, TEMPORAL_ADDRESS: address, TEMPORAL_API_KEY: API_KEY, LOG_LEVEL: 'trace' }
      const app = await startApp({ worker: false, env: wrong })
      const worker = await startWaiting('worker', app.environment)
      try {
        const line = await until('it says so', () => worker.logs.find((each) => each.includes('start.waiting')))
        expect(line).toMatch(/as the test says|Unauthenticated/i)
        const tenant = await app.tenant()
        await tenant.post('waits', [await tenant.connect()])
        await until('the api was refused, too', () => app.logs.some((each) => each.includes('outbox.deferred')))
        expect(await worker.ask('/readyz')).toMatchObject({ code: 503, checks: { temporal: 'away' } })
        expect(seen.filter(({ authorization }) => authorization !== `Bearer ${API_KEY}`)).toEqual([])
        expect(about('GetSystemInfo').length).toBeGreaterThan(0)
        expect([...worker.logs, ...app.logs].filter((each) => each.includes(API_KEY))).toEqual([])
        expect(worker.lives()).toBe(true)
      } finally {
        await Promise.all([worker.stop(), app.stop()])
      }
    })
  })
})
