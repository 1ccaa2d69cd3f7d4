import { lookup, type LookupAddress } from 'node:dns'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type LookupFunction } from 'node:net'
import { request, type buildConnector, type Dispatcher } from 'undici'
import { openFile } from '../../src/egress/open-file.js'
import { isPublicAddress, requirePublicName } from '../../src/egress/address.js'
import { createEgressClient } from '../../src/egress/egress.js'

let victim: Server
let port: number
let reached = 0
/** Every byte that came to the victim. */
let received = ''

beforeAll(async () => {
  victim = createServer((_request, response) => void response.end('reached')).on('connection', (socket) => {
    reached++
    socket.on('data', (bytes) => (received += bytes.toString('latin1')))
  })
  await new Promise<void>((resolve) => victim.listen(0, '::', resolve))
  port = (victim.address() as AddressInfo).port
})
afterAll(() => victim.close())

const codeOf = (url: string, dispatcher: Dispatcher) =>
  request(url, { dispatcher }).then(
    ({ statusCode }) => statusCode,
    (error: { code?: string }) => error.code,
  )
const call = (url: string, allow: string[] = []) => codeOf(url, createEgressClient({ allow }))

/** Loopback and reserved ranges as they can be written. */
const SPELLINGS = [
  ...['127.0.0.1', '127.1', '127.0.1', '127.127.127.127', '2130706433', '0x7f000001', '0x7f.0.0.1', '0x7f.1'],
  ...[
    '0177.0.0.1',
    '0177.1',
    '017700000001',
    '127.0.0.1.',
    '0',
    '0.0.0.0',
    '0x0',
    '１２７.0.0.1',
    '①②⑦.0.0.1',
    '127。0。0。1',
  ],
  ...[
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
  ],
  ...['[2002:7f00:1::]', '[fe80::1]', '[fc00::1]', '[::ffff:a9fe:a9fe]', '169.254.169.254', '0xa9fea9fe', '2852039166'],
  ...['10.0.0.1', '192.168.0.1', '172.16.0.1', '100.64.0.1', 'localhost', 'localhost.', 'LOCALHOST', 'a.localhost'],
]

/** A wire that only counts who would have been connected to. */
function countingWire() {
  const dialled: unknown[] = []
  const connector = () => (options: { hostname: string }, callback: buildConnector.Callback) => {
    dialled.push(options.hostname)
    callback(new Error('was dialled'), null)
  }
  return { dialled, wires: { resolve: lookup, connector: connector as unknown as typeof buildConnector } }
}

test('the 36 spellings are more than 36, each its own', () => {
  expect(new Set(SPELLINGS).size).toBe(SPELLINGS.length)
  expect(SPELLINGS.length).toBeGreaterThanOrEqual(36)
})

test.each(SPELLINGS)('a victim on loopback is not reached as %s, by any scheme or port', async (host) => {
  reached = 0
  for (const plainHttp of [false, true]) {
    const { dialled, wires } = countingWire()
    for (const url of [
      `http://${host}/`,
      `http://${host}:${port}/`,
      `https://${host}/`,
      `https://${host}:8443/`,
      `https://${host}:${port}/`,
    ]) {
      const code = await codeOf(url, createEgressClient({ allow: [], plainHttp }))
      expect([url, code]).toEqual([url, 'EGRESS_REFUSED'])
      expect([url, await codeOf(url, createEgressClient({ allow: [], plainHttp }, wires))]).toEqual([
        url,
        'EGRESS_REFUSED',
      ])
    }
    expect(dialled).toEqual([])
  }
  expect(reached).toBe(0)
})

describe('a name', () => {
  const [PUBLIC, LOOPBACK] = [
    { address: '93.184.216.34', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]
  /** Answers by turns; whatever is dialled ends at the victim, so that only the checks stand before it. */
  function victimBehind(...answers: LookupAddress[][]) {
    let times = 0
    const connector =
      ({ lookup }: { lookup?: LookupFunction }) =>
      (options: { hostname: string }, callback: buildConnector.Callback) => {
        lookup?.(options.hostname, { all: true }, (error) => {
          if (error) return callback(error, null)
          const socket = connect(port, '127.0.0.1', () => callback(null, socket))
        })
      }
    return createEgressClient(
      { allow: [], plainHttp: true },
      {
        resolve: (_hostname, _options, answer) => answer(null, answers[times++ % answers.length] ?? []),
        connector: connector as unknown as typeof buildConnector,
      },
    )
  }

  test('that is public first and private afterwards is refused the second time, and was never reached the first', async () => {
    received = ''
    const client = victimBehind([PUBLIC], [LOOPBACK])
    // The wire leads elsewhere than it was told to: the check of what was connected to finds it.
    expect(await codeOf('http://rebinding.example/', client)).toBe('EGRESS_REFUSED')
    expect(await codeOf('http://rebinding.example/', client)).toBe('EGRESS_REFUSED')
    expect(received).toBe('')
  })

  test.each([
    ['one of its addresses is private', [PUBLIC, LOOPBACK]],
    ['it has no address', []],
  ])('is refused when %s, without a connection', async (_why, addresses) => {
    reached = 0
    expect(await codeOf('http://mixed.example/', victimBehind(addresses))).toBe('EGRESS_REFUSED')
    expect(reached).toBe(0)
  })
})

describe('a file behind redirects', () => {
  const hops: Server[] = []
  afterAll(() => hops.forEach((hop) => hop.close()))

  test.each([
    ['loopback', () => `http://127.0.0.1:${port}/`],
    ['the metadata of a cloud', () => 'http://169.254.169.254/latest/meta-data/'],
    ['a number that is loopback', () => 'https://2130706433/'],
    ['another port', () => 'https://example.com:22/'],
  ])('is not fetched from %s', async (_what, target) => {
    received = ''
    const hop = createServer((_request, response) => void response.writeHead(307, { location: target() }).end())
    hops.push(hop)
    await new Promise<void>((resolve) => hop.listen(0, '127.0.0.1', resolve))
    const at = `127.0.0.1:${(hop.address() as AddressInfo).port}`
    const client = createEgressClient({ allow: [at], plainHttp: true })
    await expect(openFile(client, `http://${at}/`, AbortSignal.timeout(5_000))).rejects.toMatchObject({
      name: 'FetchFailure',
      message: 'is at an address that is not allowed',
      transient: false,
    })
    expect(received).toBe('')
  })
})

test('an entry of the allow list opens exactly that host and port', async () => {
  expect(await call(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`])).toBe(200)
  expect(await call(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port + 1}`])).toBe('EGRESS_REFUSED')
  expect(await call(`http://localhost:${port}/`, [`127.0.0.1:${port}`])).toBe('EGRESS_REFUSED')
})

test('a redirect is not followed', async () => {
  const hop = createServer(
    (_request, response) => void response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end(),
  )
  await new Promise<void>((resolve) => hop.listen(0, '127.0.0.1', resolve))
  reached = 0
  const hopPort = (hop.address() as AddressInfo).port
  expect(await call(`http://127.0.0.1:${hopPort}/`, [`127.0.0.1:${hopPort}`])).toBe(302)
  expect(reached).toBe(0)
  hop.close()
})

test.each([
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '224.0.0.1',
  '255.255.255.255',
  'fc00::1',
  'fe80::1',
  '::',
  '::1',
  '::ffff:10.0.0.1',
  '64:ff9b::10.0.0.1',
  '2002:7f00:1::',
  'ff02::1',
  'nonsense',
])('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false))

test.each(['93.184.216.34', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8'])('%s is public', (address) =>
  expect(isPublicAddress(address)).toBe(true),
)

test.each([
  ['http:', 'example.com', 80],
  ['https:', 'example.com', 22],
  ['https:', 'intranet', 443],
  ['https:', 'db.internal', 443],
  ['https:', 'printer.local', 443],
  ['https:', 'example.com.', 443],
])('%s//%s:%i is refused by its name alone', (protocol, hostname, at) => {
  expect(() => requirePublicName({ protocol, hostname, port: at })).toThrow('The address is not allowed')
})

test('the web at large may be called', () => {
  expect(() => requirePublicName({ protocol: 'https:', hostname: 'bsky.social', port: 443 })).not.toThrow()
})
