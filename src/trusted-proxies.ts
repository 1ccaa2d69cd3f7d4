import ipaddr from 'ipaddr.js'

/** Which proxies may name the caller: none, so many hops, or those of these addresses. */
export type TrustedProxies = false | number | string[]

const NAMED = ['loopback', 'linklocal', 'uniquelocal']

/** Reads `TRUST_PROXY`: empty, a number of hops, or a list of addresses, ranges and Express's names for them. Null for anything else; trusting
 *  everybody is not offered, as then anybody could name any address. */
export function readTrustedProxies(text: string): TrustedProxies | null {
  if (text === '') return false
  if (/^[1-9]$/.test(text)) return Number(text)
  const entries = text.split(',').map((entry) => entry.trim())
  return entries.every((entry) => NAMED.includes(entry) || isNetwork(entry)) ? entries : null
}

// Not the short forms that `isValid` takes as well: `0` would be an address.
function isNetwork(entry: string): boolean {
  const [address = ''] = entry.split('/')
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false
  return entry === address || ipaddr.isValidCIDR(entry)
}
