import type { Caller } from '../../accounts/schema.js'
import type { Transaction } from '../../db/client.js'
import { AppError, invalid, notFound } from '../../errors.js'
import { newId } from '../../ids.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import { findDestinations, type Destination } from '../connections/repository.js'
import type { Warning } from '../deliveries/schema.js'
import type { Platforms } from '../platforms/index.js'
import { findPost, insertPost } from './repository.js'
import { project, type Adaptation } from './projection.js'
import { readDueTime } from './rules.js'
import type { Content, CreatePost, Post } from './schema.js'

/** Accepts a post: rows and outbox lines in the caller's transaction, one delivery per connection. Throws 404 for a connection the
 *  organisation does not have, 409 for one that is switched off, 422 for a time that cannot be used, and in strict mode for a text that a
 *  destination would not take as it is. */
export async function createPost(
  tx: Transaction,
  { caller, platforms }: { caller: Caller; platforms: Platforms },
  body: CreatePost,
): Promise<Post> {
  const time = readDueTime(body.scheduled_at, new Date())
  if ('problem' in time) throw invalid([{ path: 'scheduled_at', message: time.problem }])
  const destinations = await requireDestinations(tx, caller.organisationId, [...new Set(body.connection_ids)])
  const adaptationsFor = projector(platforms, body.content)
  const deliveries = destinations.map((destination) => ({
    id: newId('dlv'),
    connectionId: destination.id,
    platform: destination.platform,
    handle: destination.handle,
    warnings: adaptationsFor(destination),
  }))
  if (body.validation === 'strict') refuseAdaptations(deliveries.flatMap(({ warnings }) => warnings))

  const id = newId('post')
  const { content, validation, draft, external_id: externalId = null } = body
  const createdBy = { kind: caller.kind, id: caller.id, name: caller.name }
  const written = { id, content, validation, draft, externalId, scheduledAt: time.due, createdBy }
  await insertPost(tx, caller.organisationId, written, deliveries)
  const ids = deliveries.map((delivery) => delivery.id)
  if (!draft) await enqueueDeliveries(tx, 'start_delivery', ids)
  const post = await findPost(tx, caller.organisationId, id)
  if (!post) throw new Error(`Post ${id} was written and is not there`)
  return post
}

/** Projects once per platform, however many of its accounts are meant. */
function projector(platforms: Platforms, content: Content): (destination: Destination) => Warning[] {
  const known = new Map<string, Adaptation[]>()
  return ({ id, platform: platformId }) => {
    const platform = platforms.get(platformId)
    if (!platform)
      throw new AppError('connection_unavailable', `The destination ${platformId} is not offered here.`, {
        connection_id: id,
        platform: platformId,
      })
    const adaptations = known.get(platformId) ?? project(platform, content).adaptations
    known.set(platformId, adaptations)
    return adaptations.map((adaptation) => ({ ...adaptation, platform: platformId, connection_id: id }))
  }
}

function refuseAdaptations(warnings: Warning[]): void {
  if (warnings.length === 0) return
  throw invalid(
    warnings.map(({ path, message, limit, received, connection_id, platform }) => ({
      path,
      message,
      limit,
      received,
      connection_id,
      platform,
    })),
  )
}

async function requireDestinations(tx: Transaction, organisationId: string, ids: string[]): Promise<Destination[]> {
  const found = await findDestinations(tx, organisationId, ids)
  if (found.length < ids.length) throw notFound()
  const off = found.filter(({ status }) => status === 'disabled' || status === 'revoked')
  const [first] = off
  if (first)
    throw new AppError('connection_unavailable', 'A connection is switched off: reconnect it or choose another.', {
      connection_id: first.id,
      platform: first.platform,
      connection_ids: off.map(({ id }) => id),
    })
  return found
}
