import type { Caller } from '../../accounts/schema.js'
import type { Transaction } from '../../db/client.js'
import type { KeyEncryptionKey } from '../../encryption.js'
import { AppError } from '../../errors.js'
import { newId } from '../../ids.js'
import * as repository from './repository.js'
import type { EndpointWithSecret } from './schema.js'
import { makeSecret } from './secret.js'

interface Registration {
  url: string
  events: string[]
  description?: string | null | undefined
}

/** Registers an endpoint and tells its secret, this once. Throws 402 payment_required where the plan carries no webhooks, 429 quota_exceeded where it
 *  carries no more of them. */
export async function registerEndpoint(
  tx: Transaction,
  { caller, keys }: { caller: Caller; keys: readonly KeyEncryptionKey[] },
  { url, events, description = null }: Registration,
): Promise<EndpointWithSecret> {
  const { organisationId } = caller
  await requireRoom(tx, caller)
  const id = newId('whk')
  const { secret, sealed, last4 } = makeSecret({ organisationId, id }, keys)
  const endpoint = await repository.insertEndpoint(tx, organisationId, { id, url, events, description, sealed, last4 })
  return { ...endpoint, secret }
}

async function requireRoom(tx: Transaction, { organisationId, limits, plan }: Caller): Promise<void> {
  const max = limits.webhook_endpoints
  if (max < 0) return
  if (max === 0)
    throw new AppError('payment_required', 'The plan does not carry webhooks.', { feature: 'webhooks', plan })
  const used = await repository.countEndpoints(tx, organisationId)
  if (used < max) return
  throw new AppError('quota_exceeded', `The plan allows ${max} webhook endpoints; delete one or change the plan.`, {
    limit: 'webhook_endpoints',
    max,
    used,
    resets_at: null,
  })
}
