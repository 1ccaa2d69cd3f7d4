import { lookup, type LookupAddress } from 'node:dns'
import type { LookupFunction, Socket } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { EgressRefusal, isPublicAddress, requirePublicName, type Target } from './address.js'
import { isAllowed } from './public-url.js'

const CONNECT_TIMEOUT_MS = 5_000

/** How names become addresses, and addresses connections; others than the system's own in tests only. */
interface Wires {
  resolve: (hostname: string, options: { all: true }, callback: Resolved) => void
  connector: (options: buildConnector.BuildOptions) => buildConnector.connector
}

type Resolved = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** Resolves a name to public addresses only; one that is not refuses them all. What was checked is what is connected to: nothing is resolved twice. */
const lookupPublic =
  (resolve: Wires['resolve']): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0)
      const [first] = addresses
      if (!first || !addresses.every(({ address }) => isPublicAddress(address)))
        return callback(new EgressRefusal(), '', 0)
      if (options.all) return callback(null, addresses)
      callback(null, first.address, first.family)
    })
  }

function targetOf({ protocol, hostname, port }: buildConnector.Options): Target {
  return {
    protocol,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
  }
}

/** The client for every address a tenant can name. Checked are the name or literal, each address it resolves to, and the address that was in fact
 *  connected to; redirects are not followed. `allow` (`host:port`) lifts all of it for exactly that server; `plainHttp` also takes
 *  http on its own port. */
export function createEgressClient(
  { allow, plainHttp = false }: { allow: readonly string[]; plainHttp?: boolean },
  { resolve, connector }: Wires = { resolve: lookup, connector: buildConnector },
): Dispatcher {
  const direct = connector({ timeout: CONNECT_TIMEOUT_MS })
  const guarded = connector({ timeout: CONNECT_TIMEOUT_MS, lookup: lookupPublic(resolve) })
  const connect: buildConnector.connector = (options, callback) => {
    const target = targetOf(options)
    if (isAllowed(target, allow)) return direct(options, callback)
    try {
      requirePublicName(target, { plainHttp })
    } catch (error) {
      return callback(error as EgressRefusal, null)
    }
    guarded(options, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error) return callback(error, null)
      if (isPublicAddress((socket as Socket).remoteAddress ?? '')) return callback(null, socket)
      socket.destroy()
      callback(new EgressRefusal(), null)
    })
  }
  // No connection is kept alive: a stale one would break after the request left and make its outcome unknown.
  return new Agent({ connect, pipelining: 0 })
}
