import { refuseArguments } from '../arguments.js'
import { Refusal, type Command } from '../command.js'
import { DEPENDENCIES } from './dependencies.js'
import { lookAt, type Finding, type Look } from './finding.js'
import { ROWS } from './rows.js'

const MARKS = { ok: 'ok   ', note: 'note ', wrong: 'WRONG' } as const

/** One note where they cannot be read, not one for each of them. */
const rows: Look = {
  part: 'rows',
  needs: ['database', 'schema'],
  next: 'See what is wrong above.',
  async at(operation) {
    const findings: Finding[] = []
    for (const look of ROWS) findings.push(...(await lookAt(look, operation, findings)))
    return findings
  },
}

export const doctor: Command = {
  words: 'doctor',
  takes: '',
  does: 'Look at everything this product stands on and every row that is stuck, and say what to do; exits 1 when something is wrong',
  anyDatabase: true,
  async run(operation, args) {
    refuseArguments(args, 'doctor')
    const findings: Finding[] = [
      { level: 'ok', part: 'time zones', says: `IANA ${process.versions['tz']}, Node ${process.version}` },
    ]
    for (const look of [...DEPENDENCIES, rows]) findings.push(...(await lookAt(look, operation, findings)))

    for (const { level, part, says, next } of findings) {
      operation.print(`${MARKS[level]} ${part.padEnd(11)} ${says}`)
      if (next) operation.print(`${' '.repeat(17)} → ${next}`)
    }
    const wrong = findings.filter(({ level }) => level === 'wrong').length
    if (wrong > 0) throw new Refusal(`${wrong} ${wrong === 1 ? 'thing is' : 'things are'} wrong.`)
    operation.print('Nothing is wrong.')
  },
}
