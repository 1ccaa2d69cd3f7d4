import { createRequire } from 'node:module'
import { isPublicAddress } from '../../src/egress/address.js'

/** Another's list of what is not public, made from other tables than ours. */
const isBogon = createRequire(import.meta.url)('bogon') as (address: string) => boolean

const below = (limit: number) => Math.floor(Math.random() * limit)
const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T

/** The beginnings of special ranges, so that their edges are met and not only the wide land between them. */
const SPECIAL_4 = [
  '0.0',
  '10.0',
  '100.64',
  '127.0',
  '169.254',
  '172.16',
  '172.31',
  '192.0',
  '192.168',
  '198.18',
  '198.51',
  '203.0',
  '224.0',
  '240.0',
  '255.255',
]
const SPECIAL_6 = [
  '::',
  '::ffff:0:0',
  '64:ff9b::',
  '100::',
  '2001::',
  '2001:10::',
  '2001:20::',
  '2001:db8::',
  '2002::',
  'fc00::',
  'fe80::',
  'ff00::',
]

const byte = () => pick([below(256), below(256), 0, 1, 255])
const anIpv4 = () =>
  Math.random() < 0.5 ? [byte(), byte(), byte(), byte()].join('.') : `${pick(SPECIAL_4)}.${byte()}.${byte()}`
const group = () => pick([below(65_536), 0]).toString(16)
const anIpv6 = () => {
  if (Math.random() < 0.3)
    return `${pick(SPECIAL_6).replace(/::$/, '')}:${group()}::${group()}`.replace(/^:(?=[^:])/, '0:')
  const first = Math.random() < 0.5 ? below(65_536) : 0x2000 + below(0x2000)
  return [first.toString(16), ...Array.from({ length: 7 }, group)].join(':')
}

/** Refused by us and not by the other list, each for a reason: relays and tunnels that lead to IPv4 addresses or to nobody (IANA special-purpose registries). */
const OURS_ALONE =
  /^(192\.(31\.196|52\.193|88\.99|175\.48)\.|2001:(0|[0-9a-f]{1,2}|1[0-9a-f]{2})?:|2002:|2620:4f:8000:|3fff:[0-9a-f]{1,3}:)/

test('of 100,000 addresses none is public that another list calls otherwise, and each that we refuse alone has its reason', () => {
  const told = { public: 0, refused: 0, oursAlone: 0 }
  for (let at = 0; at < 100_000; at++) {
    const address = at % 2 === 0 ? anIpv4() : anIpv6()
    const inside = at % 2 === 0 || /^[23][0-9a-f]{3}:/.test(address)
    const mine = isPublicAddress(address)
    if (mine && (isBogon(address) || !inside)) throw new Error(`${address} is called public`)
    if (mine) told.public++
    else if (isBogon(address) || !inside) told.refused++
    else if (OURS_ALONE.test(address)) told.oursAlone++
    else throw new Error(`${address} is refused, and no list says why`)
  }
  expect(told.public).toBeGreaterThan(20_000)
  expect(told.refused).toBeGreaterThan(20_000)
})

test.each(['2001:4860:4860::8888', '8.8.8.8', '192.0.66.2', '100.128.0.1', '172.32.0.1', '3000::1'])(
  '%s is public',
  (address) => expect(isPublicAddress(address)).toBe(true),
)

test.each([
  '3fff::1',
  '3fff:fff::1',
  '5f00::1',
  '100:0:0:1::1',
  '192.0.0.8',
  '2001:2::1',
  '2001:db8::1',
  '::ffff:0:127.0.0.1',
])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false))
