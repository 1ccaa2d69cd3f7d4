import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLog, droppedLines } from '../../src/log.js'

// Usage: node --expose-gc … log-many-lines.ts LINES TURNS. Logs so many lines, spread over so many turns of the event loop, and twice: to grow warm, and to be measured.
const [lines = 0, turns = 0] = process.argv.slice(2).map(Number)
const log = createLog({ name: 'many', level: 'info' })

async function writeLines(): Promise<number> {
  for (let turn = 0; turn < turns; turn++) {
    for (let at = 0; at < lines / turns; at++) log.info({ at, about: 'a line like others' }, 'written')
    await nextTurn()
  }
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

const before = await writeLines()
const after = await writeLines()
process.stderr.write(JSON.stringify({ before, after, dropped: droppedLines() }))
process.exit()
