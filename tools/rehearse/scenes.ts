import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { RelayClient } from '../demo/client.js'
import type { Facts } from '../demo/facts.js'
import type { Fleet } from './fleet.js'
import { tallyPosts } from './ledger.js'
import { sendLoad } from './load.js'
import type { Parts } from './parts.js'

/** What the scenes of a rehearsal share. */
export interface Stage {
  fleet: Fleet
  parts: Parts
  sql: Sql
  /** Origins of the APIs that take requests. */
  apis: string[]
  client: RelayClient
  key: string
  connectionId: string
  facts: Facts
  say: (line: string) => void
}

const OPS = ['node', 'dist/temporal/ops.js']
/** Unlike every other run's. */
const mark = Date.now().toString(36)
const SETTLED_WITHIN_MS = 300_000

/** Runs an operator's command in the image and prints what it says. */
export async function operate({ fleet, say }: Pick<Stage, 'fleet' | 'say'>, ...args: string[]): Promise<string[]> {
  const shown = args.map((arg) => (/^[\w./-]+$/.test(arg) ? arg : JSON.stringify(arg)))
  say(`    $ ops ${shown.join(' ')}`)
  const lines = await fleet.run([...OPS, ...args])
  for (const line of lines) say(`      ${line.replace(/rk_live_\S+/, 'rk_live_…')}`)
  return lines
}

/** Every API and worker is replaced, one after the other, while posts keep coming. */
export async function playRollingRestart(stage: Stage): Promise<void> {
  const { fleet, sql, apis, key, connectionId, facts, say } = stage
  say('\nA rolling restart under load')
  const names = ['api 1', 'api 2', 'worker 1', 'worker 2']
  let restarting = true
  const restarts = (async () => {
    await sleep(2_000)
    for (const name of names) {
      const begun = performance.now()
      await fleet.restart(name)
      say(`    ${name} was replaced in ${((performance.now() - begun) / 1_000).toFixed(1)} s`)
    }
  })().finally(() => (restarting = false))
  const prefix = `rolling ${mark}`
  const [load] = await Promise.all([
    sendLoad({
      ...{ origins: apis, key, connectionId, count: 2_000, perSecond: 40 },
      goOn: () => restarting,
      textOf: (at) => `${prefix} ${at}`,
    }),
    restarts,
  ])
  for (const failure of load.failures.slice(0, 5)) say(`    ${failure}`)
  const { sent, failures, byOrigin } = load
  facts.check(
    `${failures.length} failed requests of ${sent.toLocaleString('en')}`,
    failures.length === 0 && sent >= 2_000,
  )
  facts.check(
    `each API took its share: ${[...byOrigin.values()].join(' and ')}`,
    [...byOrigin.values()].every((count) => count > sent / 10),
  )
  const tally = await tallyPosts(sql, prefix, SETTLED_WITHIN_MS)
  facts.check(
    `${tally.posts} posts, ${tally.published} published, ${tally.lost} lost, ${tally.doubled} doubled`,
    tally.posts === sent && tally.published === sent && tally.lost === 0 && tally.doubled === 0,
  )
}

/** Temporal's database is destroyed; what was not settled goes on from the rows. */
export async function playDrill(stage: Stage): Promise<void> {
  const { parts, sql, facts, say } = stage
  say("\nThe drill: Temporal's database is destroyed")
  const prefix = `drill ${mark}`
  await acceptMany(stage, 20, (at) => `${prefix} done ${at}`)
  await tallyPosts(sql, `${prefix} done`, SETTLED_WITHIN_MS)
  const scheduled = { scheduled_at: new Date(Date.now() + 60_000).toISOString() }
  await acceptMany(stage, 20, (at) => `${prefix} for later ${at}`, scheduled)
  await acceptMany(stage, 20, (at) => `${prefix} between attempts ${at} [sandbox:platform_unavailable*3]`)
  await acceptMany(stage, 20, (at) => `${prefix} under way ${at} [sandbox:slow=8]`)
  await untilUnderWay(sql, `${prefix} under way`)
  await operate(stage, 'pause', 'sandbox', '--reason', 'the drill')
  await acceptMany(stage, 20, (at) => `${prefix} held back ${at}`)
  await showOpen(stage, prefix)
  await parts.temporal.loseEverything()
  say('    Temporal was killed, its database deleted, and a new server started: it knows nothing')
  await acceptMany(stage, 20, (at) => `${prefix} meanwhile ${at}`)

  await operate(stage, 'temporal-setup')
  await operate(stage, 'rearm', '--all')
  await operate(stage, 'resume', 'sandbox')
  const tally = await tallyPosts(sql, prefix, SETTLED_WITHIN_MS)
  await showOpen(stage, prefix)
  facts.check(
    `of ${tally.posts} deliveries ${tally.published} are published, ${tally.lost} lost, ${tally.doubled} doubled`,
    tally.posts === 120 && tally.published === 120 && tally.lost === 0 && tally.doubled === 0,
  )
  const [early] = await sql<[{ count: number }]>`
    select count(*)::int as count from deliveries d join posts p on p.id = d.post_id
     where p.content ->> 'text' like ${`${prefix}%`} and d.started_at < d.due_at`
  facts.check(`${early.count} of them left before they were due`, early.count === 0)
}

async function acceptMany(
  { client, connectionId }: Stage,
  count: number,
  textOf: (at: number) => string,
  more: object = {},
) {
  const accept = (at: number) =>
    client.call('POST', '/v1/posts', { content: { text: textOf(at) }, connection_ids: [connectionId], ...more })
  await Promise.all(Array.from({ length: count }, (_, at) => accept(at)))
}

/** Until the destination has taken all of these and not answered yet. */
async function untilUnderWay(sql: Sql, prefix: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++, await sleep(100)) {
    const rows = await sql`
      select 1 from attempts a join deliveries d on d.id = a.delivery_id join posts p on p.id = d.post_id
       where p.content ->> 'text' like ${`${prefix}%`} and a.state = 'sent'`
    if (rows.length > 0) return
  }
  throw new Error(`Nothing of "${prefix}" was ever under way.`)
}

async function showOpen({ sql, say }: Stage, prefix: string): Promise<void> {
  const rows = await sql<{ status: string; waiting_for: string | null; count: number }[]>`
    select d.status, d.waiting_for ->> 'code' as waiting_for, count(*)::int as count
      from deliveries d join posts p on p.id = d.post_id
     where p.content ->> 'text' like ${`${prefix}%`} group by 1, 2 order by 1, 2 nulls first`
  const shown = rows.map(
    ({ status, waiting_for, count }) => `${count} ${status}${waiting_for ? ` (${waiting_for})` : ''}`,
  )
  say(`    in the rows: ${shown.join(', ')}`)
}
