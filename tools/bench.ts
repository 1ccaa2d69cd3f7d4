import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { measureAccepting, measureDeliveries, measureLateness, countEvents, type Size } from './bench/measures.js'
import { residentMb } from './bench/memory.js'
import { openTenant } from './bench/ours.js'
import { describeBench, summariseBench } from './bench/report.js'
import { openStage, type Stage } from './bench/stage.js'
import { measureUpload } from './bench/upload.js'
import { measureWebhooks } from './bench/webhooks.js'

const { values: options } = parseArgs({ options: { json: { type: 'string' }, quick: { type: 'boolean' } } })
const say = (line: string) => void process.stdout.write(`${line}\n`)

const FULL: Size = {
  rounds: 3,
  withinMs: 75_000,
  deliveries: 300,
  posts: 1_000,
  callers: 16,
  due: 500,
  aheadMs: 8_000,
  fleet: { organisations: 50, alive: 10 },
  uploadMb: 1_000,
}
const QUICK: Size = {
  rounds: 1,
  withinMs: 75_000,
  deliveries: 60,
  posts: 200,
  callers: 16,
  due: 60,
  aheadMs: 3_000,
  fleet: { organisations: 10, alive: 5 },
  uploadMb: 200,
}
const SETTLE_MS = 5_000

async function run(stage: Stage, size: Size): Promise<void> {
  const { api, worker } = stage.stack.parts
  const tenant = await openTenant(stage.database, stage.stack.facts.api)
  await sleep(SETTLE_MS)
  const idleMb = await residentMb([api, worker])
  const begun = performance.now()
  const took = (what: string) => say(`${what}: done after ${Math.round((performance.now() - begun) / 1000)} s`)
  await measureDeliveries(stage, tenant, { ...size, rounds: 1, deliveries: 50 }) // warms both up
  const deliveries = await measureDeliveries(stage, tenant, size)
  took('deliveries')
  const accepting = await measureAccepting(stage, tenant, size)
  took('accepting')
  const lateness = await measureLateness(stage, tenant, size)
  took('lateness')
  const webhooks = await measureWebhooks(stage.database, stage.receiver, size.fleet)
  took('webhooks')
  const uploadMb = await measureUpload({ origin: stage.stack.facts.api, key: tenant.key, pid: api }, size.uploadMb)
  took('upload')
  const events = await countEvents(stage)
  const bench = { size, deliveries, accepting, lateness, webhooks, uploadMb, events, idleMb, processes: 2 }
  say(describeBench(bench))
  if (options.json) await writeFile(options.json, `${JSON.stringify(summariseBench(bench), null, 2)}\n`)
}

try {
  say('Starting PostgreSQL, Temporal, api, worker, and the bare ones beside them …')
  const stage = await openStage(say)
  try {
    await Promise.race([run(stage, options.quick ? QUICK : FULL), stage.stack.exited])
  } finally {
    await stage.stop()
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
process.exit()
