import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'
import { isPublicAddress, requirePublicName } from '../../src/egress/address.js'
import { createEgressClient } from '../../src/egress/egress.js'

let victim: Server
let port: number
let reached = 0

beforeAll(async () => {
  victim = createServer((_request, response) => void response.end('reached')).on('connection', () => void reached++)
  await new Promise<void>((resolve) => victim.listen(0, '::', resolve))
  port = (victim.address() as AddressInfo).port
})
afterAll(() => victim.close())

const call = (url: string, allow: string[] = []) =>
  request(url, { dispatcher: createEgressClient({ allow }) }).then(
    ({ statusCode }) => statusCode,
    (error: { code?: string }) => error.code,
  )

test.each([
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '0',
  '0.0.0.0',
  '[::]',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  'localhost',
  '１２７.0.0.1',
])('a victim on loopback is not reached as %s, by either scheme', async (host) => {
  reached = 0
  expect(await call(`http://${host}:${port}/`)).toBe('EGRESS_REFUSED')
  expect(await call(`https://${host}:${port}/`)).toBe('EGRESS_REFUSED')
  expect(await call(`https://${host}/`)).toBe('EGRESS_REFUSED')
  expect(reached).toBe(0)
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
