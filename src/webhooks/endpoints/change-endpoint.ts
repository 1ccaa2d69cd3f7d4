import type { Transaction } from '../../db/client.js'
import type { KeyEncryptionKey } from '../../encryption.js'
import { notFound } from '../../errors.js'
import { enqueueLanes } from '../../outbox/outbox.js'
import * as repository from './repository.js'
import type { Endpoint, EndpointChanges, EndpointWithSecret } from './schema.js'
import { makeSecret } from './secret.js'

async function requireEndpoint(tx: Transaction, organisationId: string, id: string): Promise<Endpoint> {
  const endpoint = await repository.lockEndpoint(tx, organisationId, id)
  if (!endpoint) throw notFound()
  return endpoint
}

/** Changes an endpoint; switched off, what is pending is held until it is recovered. Throws 404. */
export async function changeEndpoint(
  tx: Transaction,
  organisationId: string,
  id: string,
  { enabled, ...changes }: EndpointChanges,
): Promise<Endpoint> {
  await requireEndpoint(tx, organisationId, id)
  if (enabled === true) await repository.enableEndpoint(tx, id)
  if (enabled === false) await repository.disableEndpoint(tx, id, 'switched_off')
  const endpoint = await repository.updateEndpoint(tx, id, changes)
  // Something may be due that its breaker or its receiver's wish held back.
  if (endpoint.enabled) await enqueueLanes(tx, [id])
  return endpoint
}

/** Takes an endpoint away; nothing more is sent to it. Throws 404. */
export async function removeEndpoint(tx: Transaction, organisationId: string, id: string) {
  await requireEndpoint(tx, organisationId, id)
  await repository.deleteEndpoint(tx, id)
  return { id, deleted: true as const }
}

/** Issues a new secret, told this once. Throws 404. */
export async function rotateSecret(
  tx: Transaction,
  { organisationId, id, keys }: { organisationId: string; id: string; keys: readonly KeyEncryptionKey[] },
  overlapHours: number,
): Promise<EndpointWithSecret> {
  await requireEndpoint(tx, organisationId, id)
  const { secret, sealed, last4 } = makeSecret({ organisationId, id }, keys)
  return { ...(await repository.replaceSecret(tx, id, { sealed, last4, overlapHours })), secret }
}
