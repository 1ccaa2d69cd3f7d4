import { writeAudit } from '../audit/repository.js'
import { AppError } from '../errors.js'
import { rearmAll, rearmOne } from '../relay/deliveries/rearm.js'
import { retryDelivery } from '../relay/deliveries/retry-delivery.js'
import { wakeEveryLane } from '../webhooks/deliveries/wake-overdue.js'
import { readArguments } from './arguments.js'
import { operatorDeed } from './audit.js'
import { Refusal, UsageError, type Command } from './command.js'
import { findOwner } from './repository.js'

export const rearm: Command = {
  words: 'rearm',
  takes: 'DELIVERY | --all',
  does: 'Give a delivery that is not settled a new run, or all of them and all webhooks; the ledger decides what may be sent',
  async run({ database, print }, args) {
    const { words, has } = readArguments(args, { switches: ['all'] })
    const [id, ...more] = words
    if (more.length > 0 || (id !== undefined) === has('all'))
      throw new UsageError('rearm takes one delivery, or --all.')
    if (id === undefined) {
      // Before, as it is many transactions: what began is known, whatever becomes of it.
      await writeAudit(database, operatorDeed('delivery.rearmed', 'all'))
      const deliveries = await rearmAll(database)
      return print(`deliveries rearmed: ${deliveries}; webhook lanes woken: ${await wakeEveryLane(database)}`)
    }
    const organisationId = await findOwner(database, id)
    const generation = await database.begin(async (tx) => {
      const generation = await rearmOne(tx, id)
      if (generation !== null) await writeAudit(tx, { ...operatorDeed('delivery.rearmed', id), organisationId })
      return generation
    })
    if (generation === null) throw new Refusal(`${id} is settled, or there is no such delivery. Nothing was changed.`)
    print(`${id} is rearmed: its run is delivery/${id}/${generation}`)
  },
}

export const retry: Command = {
  words: 'retry',
  takes: 'DELIVERY [--confirm-not-published]',
  does: 'Send a failed delivery again; one that may have landed only with the flag, once somebody has looked',
  async run({ database, print }, args) {
    const { words, has } = readArguments(args, { switches: ['confirm-not-published'] })
    const [id, ...more] = words
    if (!id || more.length > 0) throw new UsageError('retry takes one delivery.')
    const organisationId = await findOwner(database, id)
    if (!organisationId) throw new Refusal(`There is no delivery ${id}.`)
    const { status } = await database
      .begin(async (tx) => {
        const answer = await retryDelivery(tx, organisationId, id, { confirmed: has('confirm-not-published') })
        await writeAudit(tx, { ...operatorDeed('delivery.retried', id), organisationId })
        return answer
      })
      .catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error
        const looked =
          error.code === 'publish_indeterminate' ? ' Look at the account first, then add --confirm-not-published.' : ''
        throw new Refusal(`${id} was left as it is: ${error.message}${looked}`, { cause: error })
      })
    print(`${id} is ${status} again`)
  },
}
