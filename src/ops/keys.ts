import { writeAudit } from '../audit/repository.js'
import { rotateKeys } from '../rotate-keys.js'
import { operatorDeed } from './audit.js'
import { refuseArguments } from './arguments.js'
import { Refusal, type Command } from './command.js'
import { SEALED_COLUMNS } from './sealed-columns.js'

export const rotate: Command = {
  words: 'keys rotate',
  takes: '',
  does: 'Wrap every sealed value with the first key of KEY_ENCRYPTION_KEYS; once every process has that key first',
  async run({ config, database, print }, args) {
    refuseArguments(args, 'keys rotate')
    const keys = config.keyEncryptionKeys
    // Before, as it is many transactions: what began is known, whatever becomes of it.
    await writeAudit(database, operatorDeed('keys.rotated', keys[0]?.id ?? ''))
    const { rewrapped, alreadyCurrent, unreadable } = await rotateKeys(database, { keys, columns: SEALED_COLUMNS })
    print(
      `key ${keys[0]?.id}: ${rewrapped} rewrapped, ${alreadyCurrent} already current, ${unreadable.length} unreadable`,
    )
    if (unreadable.length === 0) return
    throw new Refusal(
      `No key of KEY_ENCRYPTION_KEYS opens what is sealed of ${unreadable.join(', ')}; they were left as they are. Add the key they were made with.`,
    )
  },
}
