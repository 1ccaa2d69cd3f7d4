import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../src/config.js'
import type { Database } from '../src/db/client.js'
import type { Log } from '../src/log.js'
import type { SweepMeter } from '../src/operations/meters.js'
import { chainAudit } from '../src/audit/chain.js'
import { dropOldReplies } from '../src/accounts/idempotency.js'
import { dropPastLimits } from '../src/relay/connections/limits.js'
import type { BlobStore } from '../src/storage/blob-store.js'
import { sweepLoose } from '../src/storage/loose-blobs.js'
import { pokeOverdue } from '../src/relay/deliveries/rearm.js'
import { dropOldWebhooks, wakeOverdueLanes } from '../src/webhooks/deliveries/wake-overdue.js'

interface SweepOptions {
  database: Database
  blobs: BlobStore
  sweep: Config['sweep']
  meter: SweepMeter
  log: Log
}

/** Starts the sweep beside the relay loop: what a crash, an operator or a lost server left behind is poked. It should find nothing. Replies kept
 *  for Idempotency-Keys go after their day, attempts at webhooks after thirty, files that nothing refers to, limits that platforms told of once they have
 *  passed; the audit log is chained. */
export function startSweep({ database, blobs, sweep, meter, log }: SweepOptions): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const run = async () => {
    while (!stopping.signal.aborted) {
      // Jitter keeps the sweeps of several processes apart.
      await sleep(sweep.everyMs * (0.75 + Math.random() / 2), undefined, { signal: stopping.signal }).catch(
        () => 'stopped',
      )
      if (stopping.signal.aborted) return
      try {
        const poked = await pokeOverdue(database, sweep)
        if (poked > 0) {
          meter.poked(poked)
          log.warn({ poked }, 'sweep.poked')
        }
        const woken = await wakeOverdueLanes(database, sweep)
        if (woken > 0) {
          meter.woke(woken)
          log.warn({ woken }, 'sweep.woke')
        }
        await dropOldReplies(database)
        await dropOldWebhooks(database)
        await dropPastLimits(database)
        await chainAudit(database)
        await sweepLoose({ database, blobs })
      } catch (error) {
        log.warn({ error }, 'sweep.failed')
      }
    }
  }
  const running = run()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}
