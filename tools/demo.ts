import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { startBluesky } from './demo/bluesky.js'
import { Facts } from './demo/facts.js'
import { playDemo, type World } from './demo/play.js'
import { startReceiver } from './demo/receiver.js'
import { startStack, type DevFacts } from './stack/stack.js'

const dataDir = process.env.DATA_DIR ?? fileURLToPath(new URL('../.data', import.meta.url))
const say = (line: string) => void process.stdout.write(`${line}\n`)

/** The facts of an `npm run dev` of this folder that answers; null where none runs. */
async function findRunning(): Promise<DevFacts | null> {
  try {
    const facts = JSON.parse(await readFile(`${dataDir}/dev.json`, 'utf8')) as DevFacts
    // Not just anybody's answer: the API there must know this folder's key.
    const headers = { authorization: `Bearer ${facts.relay_api_key}` }
    const answer = await fetch(`${facts.api}/v1/posts?limit=1`, { headers, signal: AbortSignal.timeout(1_000) })
    return answer.ok ? facts : null
  } catch {
    return null // no file or no answer: the demo starts its own
  }
}

async function play(dev: DevFacts, world: World | null): Promise<boolean> {
  const facts = new Facts()
  const runs = dev.temporal_ui && `${dev.temporal_ui}/namespaces/default/workflows`
  await playDemo({ api: dev.api, key: dev.relay_api_key, runs, facts, say }, world)
  say(`\n${facts.summary()}`)
  return facts.allHeld
}

try {
  const running = await findRunning()
  if (running) {
    say(`Using the stack that runs at ${running.api}.`)
    process.exitCode = (await play(running, null)) ? 0 : 1
  } else {
    say('Starting PostgreSQL, Temporal, api and worker …')
    const bluesky = await startBluesky()
    const receiver = await startReceiver()
    const hosts = [receiver.host, ...(bluesky ? [new URL(bluesky.url).host] : [])]
    const env = { EGRESS_ALLOW: hosts.join(',') }
    const stack = await startStack({ dataDir, report: say, env })
    try {
      process.exitCode = (await Promise.race([play(stack.facts, { bluesky, receiver }), stack.exited])) ? 0 : 1
    } finally {
      await Promise.all([stack.stop(), bluesky?.stop()])
      receiver.stop()
    }
    say('Everything was stopped. `npm run dev` keeps it running, so that the links above can be opened.')
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
process.exit()
