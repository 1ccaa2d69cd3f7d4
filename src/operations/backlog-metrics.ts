import { Gauge, Registry } from 'prom-client'
import { readBacklog, type Backlog } from './backlog.js'
import type { Source } from './metrics.js'
import type { DatabaseProbe } from './probe.js'

/** Prometheus gives a scrape ten seconds, as a rule. */
const WITHIN_MS = 3_000

/** The source of what waits, read over a connection of its own. */
export function backlogSource(probe: DatabaseProbe, overdue: { overdueMs: number }): Source {
  return async () => describeBacklog(await probe.ask(WITHIN_MS, (sql) => readBacklog(sql, overdue)))
}

/** Made anew each time, so that nothing is told of rows that could not be read: an old number would look like a true one. */
async function describeBacklog(backlog: Backlog): Promise<string> {
  const registry = new Registry()
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  gauge('relay_outbox_lines', 'Lines Temporal has not carried out yet').set(backlog.lines)
  gauge('relay_outbox_oldest_line_seconds', 'Age of the oldest of them; 0 without any').set(backlog.oldest_line_seconds)
  gauge('relay_deliveries_overdue', 'Unsettled deliveries the sweep would poke').set(backlog.overdue)
  const unsettled = gauge('relay_deliveries_unsettled', 'Deliveries that are not settled', ['status'])
  unsettled.set({ status: 'pending' }, backlog.pending)
  unsettled.set({ status: 'processing' }, backlog.processing)
  gauge('relay_webhook_deliveries_pending', 'Events that a receiver has not taken yet').set(backlog.webhooks)
  gauge('relay_webhook_breakers_open', 'Webhook endpoints that are only probed').set(backlog.breakers)
  return registry.metrics()
}
