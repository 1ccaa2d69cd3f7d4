import { findPauses } from '../relay/platforms/pauses.js'
import { refuseArguments } from './arguments.js'
import type { Command } from './command.js'
import { countUnsettled, readQueue } from './repository.js'

export const status: Command = {
  words: 'status',
  takes: '',
  does: 'Paused platforms, what waits in the outbox, deliveries that are not settled',
  async run({ database, print }, args) {
    refuseArguments(args, 'status')
    const pauses = [...(await findPauses(database)).values()]
    for (const { platform, reason, since } of pauses)
      print(`paused    ${platform} since ${since.toISOString()}: ${reason}`)
    if (pauses.length === 0) print('paused    none')

    const { outbox_lines, outbox_oldest_s, learned_limits } = await readQueue(database)
    print(`outbox    ${outbox_lines} lines${outbox_oldest_s === null ? '' : `, the oldest ${outbox_oldest_s} s old`}`)
    print(`limits    ${learned_limits} in force`)

    const unsettled = await countUnsettled(database)
    for (const { platform, status, waiting_for, count, overdue } of unsettled)
      print(
        `unsettled ${platform} ${status}${waiting_for ? ` (${waiting_for})` : ''}: ${count}${overdue > 0 ? `, ${overdue} overdue by more than a minute` : ''}`,
      )
    if (unsettled.length === 0) print('unsettled none')
  },
}
