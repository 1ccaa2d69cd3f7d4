import type { Size } from './measures.js'
import type { Statement } from './statements.js'
import { median } from './statistics.js'

/** Everything that was measured. */
export interface Bench {
  size: Size
  deliveries: { ours: number[]; bare: number[]; statements: Statement[] }
  accepting: { ours: number[]; bare: number[] }
  lateness: { ours: Late[]; bare: Late[] }
  webhooks: { healthy: Late; withDead: Late }
  /** By how much the api grew while it took a file. */
  uploadMb: number
  events: number
  idleMb: number
  processes: number
}

interface Late {
  p50: number
  p99: number
}

const round = (value: number, digits = 2) => Number(value.toFixed(digits))

/** The numbers: medians over the rounds, ours divided by the bare one's. */
export function summariseBench(bench: Bench) {
  const { size, deliveries, accepting, lateness, webhooks, uploadMb, events, idleMb } = bench
  const ratio = (of: { ours: number[]; bare: number[] }) => round(median(of.ours) / median(of.bare))
  const p99 = (of: Late[]) => of.map((late) => late.p99)
  const calls = deliveries.statements.reduce((sum, statement) => sum + statement.calls, 0)
  return {
    delivery_ratio: ratio(deliveries),
    accept_ratio: ratio(accepting),
    lateness_p99_ratio: ratio({ ours: p99(lateness.ours), bare: p99(lateness.bare) }),
    history_events: events,
    sql_statements: round(calls / size.deliveries),
    idle_mb: round(idleMb, 0),
    webhook_p50_ms: round(webhooks.healthy.p50, 0),
    webhook_p99_ms: round(webhooks.healthy.p99, 0),
    webhook_dead_ratio: round(webhooks.withDead.p99 / webhooks.healthy.p99),
    upload_mb: round(uploadMb, 0),
  }
}

/** What a person reads: each measure with its rounds, then the statements of a delivery. */
export function describeBench(bench: Bench): string {
  const { size, deliveries, accepting, lateness, webhooks, processes } = bench
  const sums = summariseBench(bench)
  const late = (of: Late[]) => `p50 ${list(of.map(({ p50 }) => p50))} p99 ${list(of.map(({ p99 }) => p99))}`
  const rows = [
    ['what', 'ours', 'bare', 'ratio', 'aim'],
    [
      `deliveries/s, ${size.deliveries} posts`,
      list(deliveries.ours),
      list(deliveries.bare),
      `${sums.delivery_ratio}`,
      '>= 0.6',
    ],
    [`posts/s, ${size.callers} callers`, list(accepting.ours), list(accepting.bare), `${sums.accept_ratio}`, '>= 0.4'],
    [`ms late, ${size.due} at once`, late(lateness.ours), late(lateness.bare), `${sums.lateness_p99_ratio}`, '<= 1.7'],
    [
      `ms to ${size.fleet.organisations * size.fleet.alive} endpoints; as many hang`,
      late([webhooks.withDead]),
      late([webhooks.healthy]),
      `${sums.webhook_dead_ratio}`,
      '<= 2',
    ],
    [`MB more for ${size.uploadMb} MB`, `${sums.upload_mb}`, '', '', ''],
    ['history events per delivery', `${sums.history_events}`, '', '', ''],
    ['statements per delivery', `${sums.sql_statements}`, '', '', ''],
    [`MB idle, ${processes} processes`, `${sums.idle_mb}`, '', '', ''],
  ]
  return [table(rows), '', 'Statements of our first round of deliveries:', ...describeStatements(bench)].join('\n')
}

function describeStatements({ deliveries: { statements }, size }: Bench): string[] {
  return statements.map(({ text, calls, ms }) => {
    const each = (calls / size.deliveries).toFixed(2).padStart(7)
    return `${each} a delivery ${(ms / calls).toFixed(3).padStart(8)} ms  ${text.replaceAll(/\s+/g, ' ').trim().slice(0, 90)}`
  })
}

const list = (values: number[]) => values.map((value) => value.toFixed(0)).join(' ')

function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
