import type { RelayClient } from './client.js'
import { type Attempt, type Delivery, type Post } from './client.js'
import type { Facts } from './facts.js'

/** Whom a scene calls and where it shows what happened. */
export interface Stage {
  client: RelayClient
  /** Address of the page of a run in the Temporal UI, less its id; null where there is none. */
  runs: string | null
  facts: Facts
  say: (line: string) => void
  connectionId: string
}

interface Scene {
  title: string
  text: string
  /** Seconds ahead; left out: now. */
  inSeconds?: number
  status: string
  code?: string
  /** The states of its attempts, oldest first. */
  attempts: string[]
}

/** Unlike every other run's, so that the timeline shows this one's posts only once. */
const mark = Date.now().toString(36)

const SCENES: Scene[] = [
  { title: 'A post for now', text: `Hello from the demo (${mark})`, status: 'succeeded', attempts: ['accepted'] },
  {
    title: 'A post three seconds ahead',
    text: `Right on time (${mark})`,
    inSeconds: 3,
    status: 'succeeded',
    attempts: ['accepted'],
  },
  {
    title: 'The platform asks to slow down once',
    text: `Patience (${mark}) [sandbox:rate_limited*1]`,
    status: 'succeeded',
    attempts: ['refused', 'accepted'],
  },
  {
    title: 'The platform takes the post and the line breaks: it is looked up, never sent twice',
    text: `Once and only once (${mark}) [sandbox:drop]`,
    status: 'succeeded',
    attempts: ['accepted'],
  },
  {
    title: 'The platform refuses the content',
    text: `Not like this (${mark}) [sandbox:content_rejected]`,
    status: 'rejected',
    code: 'content_rejected',
    attempts: ['refused'],
  },
]

const clock = (instant: string) => instant.slice(11, 23)

/** Posts, waits, shows what happened and checks it, one scene after the other. */
export async function playScenes(stage: Omit<Stage, 'connectionId'>): Promise<void> {
  const { client, facts, say } = stage
  say('\nConnect a sandbox account')
  const { data: connection } = await client.call<{ id: string; status: string; handle: string }>(
    'POST',
    '/v1/connections',
    {
      platform: 'sandbox',
      fields: { name: 'demo' },
    },
  )
  facts.check(`connection ${connection.id} is ${connection.status}`, connection.status === 'active')
  for (const scene of SCENES) await playScene({ ...stage, connectionId: connection.id }, scene)
  await playCancel({ ...stage, connectionId: connection.id })
}

async function playScene(stage: Stage, scene: Scene): Promise<void> {
  const { client, facts, say } = stage
  say(`\n${scene.title}`)
  const accepted = await accept(stage, scene.text, scene.inSeconds)
  facts.check(`accepted with 202, ${accepted.data.status}`, accepted.status === 202)

  const post = await client.untilSettled(accepted.data.id)
  for (const delivery of post.deliveries) {
    const attempts = await showDelivery(stage, delivery)
    const ended = `${delivery.status}${delivery.error_code ? ` (${delivery.error_code})` : ''}`
    facts.check(
      `the delivery is ${ended}`,
      delivery.status === scene.status && (delivery.error_code ?? undefined) === scene.code,
    )
    facts.check(`its attempts: ${attempts.join(', ')}`, attempts.join() === scene.attempts.join())
    if (scene.inSeconds) facts.check('nothing left before it was due', (delivery.settled_at ?? '') >= delivery.due_at)
    if (delivery.remote_url)
      facts.check('the timeline shows it exactly once', (await countOnTimeline(delivery.remote_url, scene.text)) === 1)
  }
}

async function playCancel(stage: Stage): Promise<void> {
  const { client, facts, say } = stage
  say('\nA post for tomorrow, cancelled')
  const { data: post } = await accept(stage, `Never mind (${mark})`, 24 * 3600)
  facts.check(`accepted, ${post.status}`, post.status === 'scheduled')
  const { data } = await client.call<Post & { cancelled: string[] }>('DELETE', `/v1/posts/${post.id}`)
  facts.check(`the post is ${data.status}`, data.status === 'cancelled' && data.cancelled.length === 1)
}

/** Sends one post. */
export function accept({ client, connectionId }: Stage, text: string, inSeconds?: number) {
  const scheduled = inSeconds && { scheduled_at: new Date(Date.now() + inSeconds * 1000).toISOString() }
  return client.call<Post>('POST', '/v1/posts', { content: { text }, connection_ids: [connectionId], ...scheduled })
}

/** Prints what happened to a delivery; answers the states of its attempts, oldest first. */
export async function showDelivery({ client, runs, say }: Stage, delivery: Delivery): Promise<string[]> {
  const { data } = await client.call<(Attempt & { generation: number })[]>(
    'GET',
    `/v1/deliveries/${delivery.id}/attempts`,
  )
  say(`    ${delivery.handle} · due ${clock(delivery.due_at)} · settled ${clock(delivery.settled_at ?? '')}`)
  for (const { number, state, started_at, error_code, look_up } of data.toReversed())
    say(
      `    attempt ${number} at ${clock(started_at)}: ${state}${error_code ? `, ${error_code}` : ''}${look_up ? `, looked up: ${look_up.result}` : ''}`,
    )
  if (delivery.error) say(`    next step: ${delivery.error.next_step}`)
  if (delivery.remote_url) say(`    timeline: ${delivery.remote_url}`)
  const run = encodeURIComponent(`delivery/${delivery.id}/${data[0]?.generation ?? 1}`)
  if (runs) say(`    run:      ${runs}/${run}`)
  return data.toReversed().map(({ state }) => state)
}

async function countOnTimeline(url: string, text: string): Promise<number> {
  const page = await (await fetch(url)).text()
  return page.split(`>${text}<`).length - 1
}
