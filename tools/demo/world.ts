import { setTimeout as sleep } from 'node:timers/promises'
import sharp from 'sharp'
import type { Post } from './client.js'
import type { DemoReceiver } from './receiver.js'
import { accept, showDelivery, type Stage } from './scenes.js'

type Scene = Omit<Stage, 'connectionId'>

const connect = async ({ client }: Scene, platform: string, fields: object) =>
  (await client.call<{ id: string }>('POST', '/v1/connections', { platform, fields })).data.id

/** A picture with a description, seen where it was published. */
export async function playImage(stage: Scene): Promise<void> {
  const { client, facts, say } = stage
  say('\nA picture with its description')
  const connectionId = await connect(stage, 'sandbox', { name: 'demo' })
  const picture = await sharp({ create: { width: 640, height: 360, channels: 3, background: '#3b5bdb' } })
    .png()
    .toBuffer()
  const asset = await client.upload(picture, 'square.png')
  facts.check(
    `uploaded: ${asset.kind}, ${asset.width} × ${asset.height}`,
    asset.kind === 'image' && asset.width === 640,
  )
  const alt = `A blue square (${Date.now().toString(36)})`
  const content = { text: 'With a picture', media: [{ id: asset.id, alt }] }
  const { data } = await client.call<Post>('POST', '/v1/posts', {
    content,
    connection_ids: [connectionId],
    allow_duplicate: true,
  })
  const [delivery] = (await client.untilSettled(data.id)).deliveries
  if (delivery) await showDelivery({ ...stage, connectionId }, delivery)
  const page = delivery?.remote_url ? await (await fetch(delivery.remote_url)).text() : ''
  facts.check('the timeline shows its description', page.includes(alt))
}

/** Events told to somebody else's server, and a destination there that fails after it took a post. */
export async function playReceiver(stage: Scene, receiver: DemoReceiver): Promise<void> {
  await playEvents(stage, receiver)
  await playFailure(stage, receiver)
}

async function playEvents(stage: Scene, { host, received, secrets }: DemoReceiver): Promise<void> {
  const { client, facts, say } = stage
  say('\nA server that is told of events')
  const { data: endpoint } = await client.call<{ id: string; secret: string }>('POST', '/v1/webhooks', {
    url: `http://${host}/events`,
    events: ['*'],
  })
  secrets.set('/events', endpoint.secret)
  const connectionId = await connect(stage, 'sandbox', { name: 'demo' })
  const { data: post } = await accept({ ...stage, connectionId }, `Tell everybody (${Date.now().toString(36)})`)
  await client.untilSettled(post.id)
  const told = () => received.filter(({ path }) => path === '/events')
  for (let tries = 0; tries < 100 && told().length < 3; tries++) await sleep(100)
  for (const { body, delivery, verified } of told())
    say(`    ${body.type} as ${delivery}: the signature ${verified ? 'verifies' : 'does NOT verify'}`)
  const types = told()
    .map(({ body }) => String(body.type))
    .sort()
  facts.check(
    `it was told of ${types.join(', ')}, each signed`,
    types.join() === 'delivery.succeeded,post.created,post.published' && told().every(({ verified }) => verified),
  )
  await client.call('DELETE', `/v1/webhooks/${endpoint.id}`)
}

async function playFailure(stage: Scene, { host, received, secrets, failures }: DemoReceiver): Promise<void> {
  const { client, facts, say } = stage
  say('\nA destination that takes the post and then fails: it is sent again under its own key')
  const secret = 'known to both sides alone'
  secrets.set('/posts', secret)
  const connectionId = await connect(stage, 'webhook_post', { url: `http://${host}/posts`, secret })
  failures.set('/posts', 1)
  const { data } = await accept({ ...stage, connectionId }, `Only once (${Date.now().toString(36)})`)
  const [delivery] = (await client.untilSettled(data.id)).deliveries
  const attempts = delivery ? await showDelivery({ ...stage, connectionId }, delivery) : []
  facts.check(`its attempts: ${attempts.join(', ')}`, attempts.join() === 'unknown,accepted')
  const keys = received.filter(({ path }) => path === '/posts').map((each) => each.delivery)
  facts.check(`both requests carry the same x-relay-delivery`, keys.length === 2 && new Set(keys).size === 1)
}
