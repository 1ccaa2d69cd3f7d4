import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'

const LOOK_EVERY_MS = 200
const UNDER_WAY_AT_MOST = 64

interface Load {
  /** Origins of APIs that are the same to a caller. */
  origins: string[]
  key: string
  connectionId: string
  /** At least so many requests. */
  count: number
  perSecond: number
  /** It goes on for as long as this says so. */
  goOn: () => boolean
  textOf: (at: number) => string
}

export interface LoadResult {
  sent: number
  /** What was not answered with 202, in words. */
  failures: string[]
  /** How many requests each API was sent. */
  byOrigin: Map<string, number>
}

/** Accepts posts at a steady pace, each request sent once and never again, to whichever API says that it is ready: what a load balancer does. */
export async function sendLoad(load: Load): Promise<LoadResult> {
  const balancer = new Balancer(load.origins)
  await balancer.look()
  const agent = new Agent()
  const result: LoadResult = { sent: 0, failures: [], byOrigin: new Map(load.origins.map((origin) => [origin, 0])) }
  const underWay = new Set<Promise<void>>()
  const begun = performance.now()
  try {
    while (result.sent < load.count || load.goOn()) {
      const at = result.sent++
      await sleep(Math.max(0, begun + (at * 1_000) / load.perSecond - performance.now()))
      if (underWay.size >= UNDER_WAY_AT_MOST) await Promise.race(underWay)
      const origin = balancer.next()
      result.byOrigin.set(origin, (result.byOrigin.get(origin) ?? 0) + 1)
      const sending = sendPost(agent, origin, load, at)
        .then((problem) => void (problem !== null && result.failures.push(problem)))
        .finally(() => underWay.delete(sending))
      underWay.add(sending)
    }
    await Promise.all(underWay)
    return result
  } finally {
    balancer.stop()
    await agent.close()
  }
}

/** Null: accepted. */
async function sendPost(
  agent: Agent,
  origin: string,
  { key, connectionId, textOf }: Load,
  at: number,
): Promise<string | null> {
  try {
    const { statusCode, body } = await request(`${origin}/v1/posts`, {
      dispatcher: agent,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ content: { text: textOf(at) }, connection_ids: [connectionId] }),
    })
    const text = await body.text()
    return statusCode === 202 ? null : `request ${at} to ${origin}: ${statusCode} ${text.slice(0, 200)}`
  } catch (error) {
    return `request ${at} to ${origin}: ${error instanceof Error ? error.message : String(error)}`
  }
}

class Balancer {
  private ready: string[] = []
  private turn = 0
  private stopped = false

  constructor(private readonly origins: string[]) {}

  /** Asks each API, and from then on again and again. */
  async look(): Promise<void> {
    const asked = await Promise.all(this.origins.map(isReady))
    this.ready = this.origins.filter((_, at) => asked[at])
    if (this.stopped) return
    setTimeout(() => void this.look(), LOOK_EVERY_MS).unref()
  }

  /** The next one that is ready; any, where none is. */
  next(): string {
    const from = this.ready.length > 0 ? this.ready : this.origins
    return from[this.turn++ % from.length] ?? ''
  }

  stop(): void {
    this.stopped = true
  }
}

async function isReady(origin: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${origin}/readyz`, { signal: AbortSignal.timeout(LOOK_EVERY_MS * 5) })
    await body.dump()
    return statusCode === 200
  } catch {
    return false // it is not there
  }
}
