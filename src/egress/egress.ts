import { lookup as resolve, type LookupAddress } from 'node:dns'
import type { LookupFunction, Socket } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { EgressRefusal, isPublicAddress, requirePublicName, type Target } from './address.js'
import { isAllowed } from './public-url.js'

const CONNECT_TIMEOUT_MS = 5_000

/** Resolves a name to public addresses only; one that is not refuses them all. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
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
 *  connected to; redirects are not followed. `allow` (`host:port`) lifts all of it for exactly that server. */
export function createEgressClient({ allow }: { allow: readonly string[] }): Dispatcher {
  const direct = buildConnector({ timeout: CONNECT_TIMEOUT_MS })
  const guarded = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: lookupPublic })
  const connect: buildConnector.connector = (options, callback) => {
    const target = targetOf(options)
    if (isAllowed(target, allow)) return direct(options, callback)
    try {
      requirePublicName(target)
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
