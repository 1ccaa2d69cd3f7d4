import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'
import { droppedLines, type Log } from '../log.js'
import type { AttemptMeter, RequestMeter, SweepMeter, WebhookMeter } from './meters.js'

/** Text of the Prometheus format and the type it is sent as. */
export interface Exposition {
  contentType: string
  text: string
}

/** The metrics of one process. */
export interface Metrics {
  requests: RequestMeter
  attempts: AttemptMeter
  webhooks: WebhookMeter
  sweep: SweepMeter
  /** Everything as Prometheus reads it; never throws because a part does not answer. */
  expose(): Promise<Exposition>
}

/** Text of one part in that format. Bounds its own time; what throws is left out of the answer, counted and logged. */
export type Source = () => Promise<string>

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25]

/** Makes the metrics of a process, with what further sources tell at the moment they are asked for. */
export function createMetrics({ sources, log }: { sources: Record<string, Source>; log: Pick<Log, 'warn'> }): Metrics {
  const registry = new Registry()
  const registers: Registers = [registry]
  collectDefaultMetrics({ register: registry })
  const failures = new Counter({
    name: 'relay_scrape_failures_total',
    help: 'Sources of metrics that did not answer in time and whose metrics were left out',
    labelNames: ['source'],
    registers,
  })
  countDroppedLines(registers)
  const read = async ([source, tell]: [string, Source]) => {
    try {
      return await tell()
    } catch (error) {
      log.warn({ error, source }, 'metrics.left_out')
      failures.inc({ source })
      return ''
    }
  }
  return {
    requests: requestMeter(registers),
    attempts: attemptMeter(registers),
    webhooks: webhookMeter(registers),
    sweep: sweepMeter(registers),
    async expose() {
      const told = await Promise.all(Object.entries(sources).map(read))
      return { contentType: registry.contentType, text: [await registry.metrics(), ...told].join('') }
    },
  }
}

type Registers = [Registry]

function countDroppedLines(registers: Registers): void {
  new Counter({
    name: 'relay_log_lines_dropped_total',
    help: 'Lines of the log that standard output did not take',
    registers,
    collect() {
      this.reset()
      this.inc(droppedLines())
    },
  })
}

function requestMeter(registers: Registers): RequestMeter {
  const labelNames = ['method', 'route', 'status'] as const
  const help = 'Answered requests by route template; their count is the number of requests'
  const name = 'relay_http_request_duration_seconds'
  const durations = new Histogram({ name, help, labelNames, buckets: SECONDS, registers })
  const refusals = new Counter({ name: 'relay_rate_limited_total', help: 'Requests over a limit', registers })
  const replays = new Counter({
    name: 'relay_idempotent_replays_total',
    help: 'Requests answered with a kept reply',
    registers,
  })
  return {
    answered: ({ seconds, ...labels }) => durations.observe(labels, seconds),
    refused: () => refusals.inc(),
    replayed: () => replays.inc(),
  }
}

function attemptMeter(registers: Registers): AttemptMeter {
  const attempts = new Counter({
    name: 'relay_attempts_total',
    help: 'Attempts that ended, by the state they ended in and the code of what went wrong',
    labelNames: ['platform', 'state', 'code'],
    registers,
  })
  return { ended: ({ platform, state, code }) => attempts.inc({ platform, state, code: code ?? 'none' }) }
}

function webhookMeter(registers: Registers): WebhookMeter {
  const attempts = new Counter({
    name: 'relay_webhook_attempts_total',
    help: 'Attempts to tell a receiver of an event, by what they brought',
    labelNames: ['result'],
    registers,
  })
  const name = 'relay_webhook_first_attempt_lag_seconds'
  const lags = new Histogram({ name, help: 'From an event to its first attempt', buckets: SECONDS, registers })
  return {
    firstTried: (seconds) => lags.observe(seconds),
    attempted: (result) => attempts.inc({ result }),
  }
}

function sweepMeter(registers: Registers): SweepMeter {
  const help = 'Overdue deliveries the sweep poked; it should find none'
  const pokes = new Counter({ name: 'relay_sweep_poked_total', help, registers })
  const wakes = new Counter({
    name: 'relay_sweep_woke_total',
    help: 'Lanes of webhook endpoints with something overdue that the sweep woke; it should find none',
    registers,
  })
  return { poked: (deliveries) => pokes.inc(deliveries), woke: (lanes) => wakes.inc(lanes) }
}
