import ipaddr from 'ipaddr.js'

const PORTS = new Set([443, 8443])
const LOCAL_NAME = /(^|\.)(localhost|local|internal|home\.arpa)$/i

/** An address that a tenant named and that we do not call. Its message never says which address it was. */
export class EgressRefusal extends Error {
  override readonly name = 'EgressRefusal'
  readonly code = 'EGRESS_REFUSED'

  constructor() {
    super('The address is not allowed')
  }
}

/** Whether an IP address is one of the public internet: unicast, and for IPv6 global unicast (2000::/3, RFC 4291 2.4). An IPv4 address
 *  inside an IPv6 one is judged as the IPv4 address it is. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  if (ip.range() !== 'unicast') return false
  return !(ip instanceof ipaddr.IPv6) || ((ip.parts[0] ?? 0) & 0xe000) === 0x2000
}

/** A server as `host:port` of `EGRESS_ALLOW` names it. */
export interface Target {
  protocol: string
  hostname: string
  port: number
}

/** What of a target can be judged without asking anybody. Throws EgressRefusal for another scheme or port than https's, a literal address that is
 *  not public, and a name that only means something inside a network. */
export function requirePublicName({ protocol, hostname, port }: Target, { plainHttp = false } = {}): void {
  const secure = protocol === 'https:' && PORTS.has(port)
  const refused =
    !(secure || (plainHttp && protocol === 'http:' && port === 80)) ||
    hostname.endsWith('.') ||
    LOCAL_NAME.test(hostname) ||
    (ipaddr.isValid(hostname) ? !isPublicAddress(hostname) : !hostname.includes('.'))
  if (refused) throw new EgressRefusal()
}
