import type { Transaction } from '../../db/client.js'
import { invalid, notFound, platformProblem, type FieldProblem } from '../../errors.js'
import { findDestinations, type Destination } from '../connections/repository.js'
import type { Warning } from '../deliveries/schema.js'
import type { Platforms } from '../platforms/index.js'
import type { Override } from './content.js'
import type { Aim } from './schema.js'

/** One connection that a post is aimed at. */
export interface Target extends Destination {
  overrides: Override | null
  /** `connection_needs_attention` where it asks to be reconnected. */
  warnings: Warning[]
}

export interface Targets {
  targets: Target[]
  /** Platforms that were named and have no active connection. */
  warnings: Warning[]
}

/** The union of `targets`, `connection_ids` and `platforms`, each connection once, in id order. Throws 422 for a connection twice in `targets` and for
 *  a platform that is none, 404 for a connection the organisation does not have, 409 for one that is switched off; in strict mode also for one that asks
 *  to be reconnected, and 422 for a platform without an active connection (shapes.md 2, Targets). */
export async function findTargets(
  tx: Transaction,
  { organisationId, platforms }: { organisationId: string; platforms: Platforms },
  aim: Aim,
): Promise<Targets> {
  const overrides = new Map(aim.targets.map(({ connection_id, overrides }) => [connection_id, overrides ?? null]))
  refuseTwice(aim)
  refuseUnknown(platforms, aim)
  const named = new Set([...overrides.keys(), ...aim.connection_ids])
  const found = await findDestinations(tx, organisationId, { ids: [...named], platforms: aim.platforms })
  if (found.filter(({ id }) => named.has(id)).length < named.size) throw notFound()
  refuseSwitchedOff(found, aim.validation)
  const empty = aim.platforms.filter(
    (id) => !found.some(({ platform, status }) => platform === id && status === 'active'),
  )
  if (aim.validation === 'strict' && empty.length > 0)
    throw invalid(
      empty.map((id) => ({ path: `platforms.${aim.platforms.indexOf(id)}`, message: NO_CONNECTION, platform: id })),
    )
  return {
    targets: found.map((destination) => ({
      ...destination,
      overrides: overrides.get(destination.id) ?? null,
      warnings: destination.status === 'reauth_required' ? [needsAttention(destination)] : [],
    })),
    warnings: empty.map((id) => ({
      ...NO_NUMBERS,
      code: 'no_active_connection',
      message: `${id} ${NO_CONNECTION}`,
      path: 'platforms',
      platform: id,
      connection_id: null,
    })),
  }
}

const NO_CONNECTION = 'has no active connection'
const NO_NUMBERS = { limit: null, received: null, unit: null }

function needsAttention({ id, platform }: Destination): Warning {
  const message = 'This connection asks to be reconnected; reconnect it before the post is due.'
  return { ...NO_NUMBERS, code: 'connection_needs_attention', message, path: 'targets', platform, connection_id: id }
}

function refuseTwice({ targets }: Aim): void {
  const seen = new Set<string>()
  const twice: FieldProblem[] = []
  for (const [at, { connection_id: id }] of targets.entries()) {
    if (seen.has(id)) twice.push({ path: `targets.${at}.connection_id`, message: 'is given twice', connection_id: id })
    seen.add(id)
  }
  if (twice.length > 0) throw invalid(twice)
}

function refuseUnknown(platforms: Platforms, aim: Aim): void {
  const named = [
    ...aim.platforms.map((id, at) => ({ path: `platforms.${at}`, id })),
    ...Object.keys(aim.overrides).map((id) => ({ path: `overrides.${id}`, id })),
  ]
  const unknown = named.filter(({ id }) => !platforms.has(id))
  if (unknown.length === 0) return
  throw invalid(unknown.map(({ path }) => ({ path, message: 'is not a destination; GET /v1/platforms lists them' })))
}

function refuseSwitchedOff(found: Destination[], validation: Aim['validation']): void {
  const off = found.filter(
    ({ status }) =>
      status === 'disabled' || status === 'revoked' || (validation === 'strict' && status === 'reauth_required'),
  )
  const [first] = off
  if (!first) return
  throw platformProblem('connection_unavailable', `A connection is ${first.status}: reconnect it or choose another.`, {
    platform: first.platform,
    connectionId: first.id,
    connection_ids: off.map(({ id }) => id),
  })
}
