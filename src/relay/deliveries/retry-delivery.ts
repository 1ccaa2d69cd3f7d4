import type { Transaction } from '../../db/client.js'
import { invalidState, notFound, platformProblem } from '../../errors.js'
import { requeueAgain } from '../posts/actions.js'
import { lockPost } from '../posts/repository.js'
import { believeAbsent, findDelivery, lockDelivery } from './repository.js'
import type { Delivery } from './schema.js'

/** Sends one failed delivery again. Throws 404, 422 invalid_state for one that is not failed, and 409 publish_indeterminate for one that may have
 *  landed, unless the caller says that they looked and it is not there. */
export async function retryDelivery(
  tx: Transaction,
  organisationId: string,
  id: string,
  { confirmed }: { confirmed: boolean },
): Promise<Delivery> {
  const delivery = await lockDelivery(tx, organisationId, id)
  if (!delivery) throw notFound()
  if (delivery.status !== 'failed')
    throw invalidState(`A delivery that is ${delivery.status} cannot be retried.`, delivery.status, [])
  if (delivery.error_code === 'publish_indeterminate' && !confirmed)
    throw platformProblem(
      'publish_indeterminate',
      'This post may have landed. Look at the account; if it is not there, send confirm_not_published.',
      { platform: delivery.platform, connectionId: delivery.connection_id },
    )
  if (confirmed) await believeAbsent(tx, id)
  await lockPost(tx, organisationId, delivery.post_id)
  await requeueAgain(tx, delivery.post_id, [id])
  const answer = await findDelivery(tx, organisationId, id)
  if (!answer) throw notFound()
  return answer
}
