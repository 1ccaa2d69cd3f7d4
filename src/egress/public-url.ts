import { lookup } from 'node:dns/promises'
import { EgressRefusal, isPublicAddress, requirePublicName, type Target } from './address.js'

const LOOK_UP_WITHIN_MS = 3_000

/** Whether `EGRESS_ALLOW` names exactly this server. */
export function isAllowed({ hostname, port }: Target, allow: readonly string[]): boolean {
  return allow.includes(`${hostname}:${port}`)
}

/** Judges an address before it is ever called; every call judges it again. Throws EgressRefusal as a call would. A name that does not resolve now may
 *  do so later, so it passes. */
export async function requirePublicUrl(url: string, { allow }: { allow: readonly string[] }): Promise<void> {
  const { protocol, hostname, port } = new URL(url)
  const target = {
    protocol,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
  }
  if (isAllowed(target, allow)) return
  requirePublicName(target)
  const addresses = await resolve(target.hostname)
  if (!addresses.every(isPublicAddress)) throw new EgressRefusal()
}

async function resolve(hostname: string): Promise<string[]> {
  let alarm: NodeJS.Timeout | undefined
  const late = new Promise<[]>((done) => {
    alarm = setTimeout(() => done([]), LOOK_UP_WITHIN_MS)
  })
  const found = lookup(hostname, { all: true }).then(
    (addresses) => addresses.map(({ address }) => address),
    () => [], // not known now; the connector asks again at every attempt
  )
  return Promise.race([found, late]).finally(() => clearTimeout(alarm))
}
