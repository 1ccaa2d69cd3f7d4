import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../src/config.js'
import type { Database } from '../src/db/client.js'
import type { Log } from '../src/log.js'
import { deferLine, dropLines, takeLines, type OutboxLine } from '../src/outbox/outbox.js'
import { carryOut, type Commander } from './commands.js'

const BATCH = 50
const LONGEST_DEFER_MS = 30_000

/** The loop that has Temporal do what the outbox says; every process runs one. */
export interface RelayLoop {
  /** There is something to do: look at once. */
  nudge(): void
  /** Ends after the lines under way. */
  stop(): Promise<void>
}

interface LoopOptions {
  database: Database
  commander: Commander
  outbox: Config['outbox']
  log: Log
}

/** Starts the loop: woken by `nudge`, by NOTIFY of other processes, and by polling as the net. */
export function startRelayLoop({ database, commander, outbox, log }: LoopOptions): RelayLoop {
  let stopping = false
  let wake = new AbortController()
  const nudge = () => wake.abort()

  const carry = async (line: OutboxLine) => {
    try {
      await carryOut(commander, line)
      return line.id
    } catch (error) {
      log.warn({ error, command: line.command, workflow_id: line.workflow_id, tries: line.tries }, 'outbox.deferred')
      const inMs = Math.min(LONGEST_DEFER_MS, outbox.pollMs * 2 ** Math.min(line.tries, 16))
      await deferLine(database, line.id, { error: String(error), inMs })
      return null
    }
  }
  const drain = async () => {
    for (;;) {
      const lines = await takeLines(database, { limit: BATCH, leaseMs: outbox.leaseMs })
      const done = (await Promise.all(lines.map(carry))).filter((id) => id !== null)
      if (done.length > 0) await dropLines(database, done)
      if (lines.length < BATCH || stopping) return
    }
  }
  const run = async () => {
    while (!stopping) {
      wake = new AbortController()
      await drain().catch((error: unknown) => log.warn({ error }, 'outbox.unreachable'))
      await sleep(outbox.pollMs, undefined, { signal: wake.signal }).catch(() => 'woken')
    }
  }

  const listening = database
    .listen('outbox', nudge)
    .catch((error: unknown) => log.warn({ error }, 'outbox.not_listening'))
  const running = run()
  return {
    nudge,
    async stop() {
      stopping = true
      nudge()
      await running
      const subscription = await listening
      await subscription?.unlisten()
    },
  }
}
