import type { Transaction } from '../../db/client.js'
import { notFound } from '../../errors.js'
import { enqueueDeliveries } from '../../outbox/outbox.js'
import { cancelPending } from '../deliveries/repository.js'
import { settleRest } from '../posts/cancel-post.js'
import { settleCall } from '../platforms/http.js'
import { reachAccount, type Gateway } from './reach-account.js'
import { eraseConnection, findStoredAccount } from './repository.js'

/** Ends the session at the platform where there is a way. Repeatable; a platform that does not answer does not keep anybody from deleting: answers false. */
export async function signOut(gateway: Gateway, organisationId: string, id: string): Promise<boolean> {
  const account = await findStoredAccount(gateway.database, organisationId, id)
  if (!account) throw notFound()
  const reach = account.sealed ? reachAccount(gateway, { ...account, sealed: account.sealed }) : null
  const { signOut: end } = reach?.platform ?? {}
  if (!reach || !end) return false
  return 'value' in (await settleCall(() => end(reach.credentials, reach.http())))
}

/** Erases the credentials and cancels what was pending for the account; what was published stays in the history. Throws 404. */
export async function deleteConnection(
  tx: Transaction,
  organisationId: string,
  id: string,
): Promise<{ id: string; deleted: true; cancelled_deliveries: number }> {
  if (!(await eraseConnection(tx, organisationId, id))) throw notFound()
  const cancelled = await cancelPending(tx, organisationId, { connectionId: id })
  if (cancelled.length > 0)
    await enqueueDeliveries(
      tx,
      'cancel_delivery',
      cancelled.map((delivery) => delivery.id),
    )
  for (const postId of [...new Set(cancelled.map(({ post_id }) => post_id))].sort())
    await settleRest(tx, organisationId, postId)
  return { id, deleted: true, cancelled_deliveries: cancelled.length }
}
