import type { Caller } from '../../accounts/schema.js'
import type { Transaction } from '../../db/client.js'
import { AppError, invalid, notFound } from '../../errors.js'
import { newId } from '../../ids.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import { findDestinations, type Destination } from '../connections/repository.js'
import { findPost, insertPost } from './repository.js'
import { readDueTime } from './rules.js'
import type { CreatePost, Post } from './schema.js'

/** Accepts a post: rows and outbox lines in the caller's transaction, one delivery per connection. Throws 404 for a connection the
 *  organisation does not have, 409 for one that is switched off, 422 for a time that cannot be used. */
export async function createPost(tx: Transaction, caller: Caller, body: CreatePost): Promise<Post> {
  const time = readDueTime(body.scheduled_at, new Date())
  if ('problem' in time) throw invalid([{ path: 'scheduled_at', message: time.problem }])
  const destinations = await requireDestinations(tx, caller.organisationId, [...new Set(body.connection_ids)])

  const id = newId('post')
  const deliveries = destinations.map(({ id: connectionId, platform, handle }) => ({
    id: newId('dlv'),
    connectionId,
    platform,
    handle,
  }))
  const createdBy = { kind: caller.kind, id: caller.id, name: caller.name }
  await insertPost(
    tx,
    caller.organisationId,
    { id, content: body.content, scheduledAt: time.due, createdBy },
    deliveries,
  )
  await enqueueDeliveries(
    tx,
    'start_delivery',
    deliveries.map((delivery) => delivery.id),
  )
  const post = await findPost(tx, caller.organisationId, id)
  if (!post) throw new Error(`Post ${id} was written and is not there`)
  return post
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
