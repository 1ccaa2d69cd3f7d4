import { setTimeout as sleep } from 'node:timers/promises'
import { runBare } from './bare.js'
import { postsPerSecond } from './load.js'
import { acceptHeld, readOutcome, release, type Tenant } from './ours.js'
import type { Stage } from './stage.js'
import { readStatements, resetStatements, type Statement } from './statements.js'
import { alternate, quantile } from './statistics.js'

/** How much of what a bench does. */
export interface Size {
  rounds: number
  deliveries: number
  posts: number
  callers: number
  due: number
  /** What the rounds of one measure may take together; the first is always run. */
  withinMs: number
  /** How long before it is due what is due at once is accepted, in milliseconds: time to start all of it. */
  aheadMs: number
  /** Organisations, and the endpoints of each that answer. */
  fleet: { organisations: number; alive: number }
  /** How large the file is that is uploaded, in MB. */
  uploadMb: number
}

const ASK_EVERY_MS = 100

async function untilOutcome({ database }: Stage, ids: string[]) {
  for (;;) {
    const outcome = await readOutcome(database, ids)
    if (outcome) return outcome
    await sleep(ASK_EVERY_MS)
  }
}

/** Until nothing of the round before is under way any more. */
async function untilQuiet({ database }: Stage): Promise<void> {
  while ((await database`select /* bench */ 1 from outbox limit 1`).length > 0) await sleep(ASK_EVERY_MS)
}

/** Deliveries a second from the release of accepted posts to the last outcome, against bare workflows from the first start to the last activity.
 *  With every statement of our first round. */
export async function measureDeliveries(stage: Stage, tenant: Tenant, { deliveries: count, ...limits }: Size) {
  let statements: Statement[] = []
  const ours = async () => {
    const ids = await acceptHeld(stage.database, tenant, { count })
    await resetStatements(stage.database)
    const begun = await release(stage.database)
    const { lastAt } = await untilOutcome(stage, ids)
    if (statements.length === 0) statements = await readStatements(stage.database)
    return count / ((lastAt - begun) / 1000)
  }
  const bare = async () => {
    const begun = Date.now()
    const times = await runBare({ client: stage.client, worker: stage.bareWorker }, { count })
    return count / ((Math.max(...times.map(({ at }) => at)) - begun) / 1000)
  }
  return { ...(await alternate(limits, { ours, bare, between: () => untilQuiet(stage) })), statements }
}

/** Posts a second that POST /v1/posts accepts, against a bare route with one insert. They are due in a year, so that none is delivered meanwhile;
 *  our relay loops do hand them to Temporal meanwhile. */
export async function measureAccepting(
  stage: Stage,
  tenant: Tenant,
  { posts: count, callers: atOnce, ...limits }: Size,
) {
  const scheduled_at = new Date(Date.now() + 365 * 86_400_000).toISOString()
  const body = (at: number) =>
    JSON.stringify({ content: { text: `accepted ${at}` }, connection_ids: [tenant.connections[at % 10]], scheduled_at })
  let at = 0
  const load = { count, atOnce, body: () => body(at++) }
  const headers = { authorization: `Bearer ${tenant.key}` }
  const ours = () => postsPerSecond({ ...load, origin: stage.stack.facts.api, path: '/v1/posts', headers })
  const origin = `http://127.0.0.1:${String(stage.bareApi.facts['port'])}`
  const bare = () => postsPerSecond({ ...load, origin, path: '/posts', headers })
  await bare()
  await ours()
  await untilQuiet(stage)
  return alternate(limits, { ours, bare, between: () => untilQuiet(stage) })
}

/** How late what is due in the same second arrives, in milliseconds: at the platform, against the bare activity. */
export async function measureLateness(stage: Stage, tenant: Tenant, { due: count, aheadMs, ...limits }: Size) {
  const summarise = (late: number[]) => ({ p50: quantile(late, 0.5), p99: quantile(late, 0.99) })
  const dueAt = () => new Date(Math.ceil((Date.now() + aheadMs) / 1000) * 1000)
  const ours = async () => {
    const ids = await acceptHeld(stage.database, tenant, { count, dueAt: dueAt() })
    await release(stage.database)
    return summarise((await untilOutcome(stage, ids)).lateMs)
  }
  const bare = async () => {
    const times = await runBare({ client: stage.client, worker: stage.bareWorker }, { count, dueAt: dueAt().getTime() })
    return summarise(times.map(({ at, dueAt }) => at - dueAt))
  }
  return alternate(limits, { ours, bare, between: () => untilQuiet(stage) })
}

/** Events in the history of one run of ours, once it has closed. */
export async function countEvents({ database, client }: Stage): Promise<number> {
  const [row] = await database<{ id: string }[]>`
    select id from deliveries where status = 'succeeded' and generation = 1 order by id limit 1`
  if (!row) throw new Error('No delivery has succeeded')
  const handle = client.workflow.getHandle(`delivery/${row.id}/1`)
  await handle.result()
  return (await handle.fetchHistory()).events?.length ?? 0
}
