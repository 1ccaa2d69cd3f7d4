import { stat } from 'node:fs/promises'
import type { Pds } from '../../test/real/pds.js'
import { accept, showDelivery, type Stage } from './scenes.js'

/** A real Bluesky server for the demo; null where `npm run test:real` has not installed it. */
export async function startBluesky(): Promise<Pds | null> {
  const installed = await stat(new URL('../../test/real/node_modules/.installed', import.meta.url)).catch(() => null)
  if (!installed) return null
  const { startPds } = await import('../../test/real/pds.js')
  return startPds()
}

/** Publishes to the real server and reads the record back from its repository. */
export async function playBluesky(stage: Omit<Stage, 'connectionId'>, pds: Pds): Promise<void> {
  const { client, facts, say } = stage
  say('\nA real Bluesky server (PDS)')
  const { did, handle, appPassword } = await pds.createAccount('relay-demo.test')
  const { data: connection } = await client.call<{ id: string; handle: string }>('POST', '/v1/connections', {
    platform: 'bluesky',
    fields: { service: pds.url, identifier: handle, app_password: appPassword },
  })
  facts.check(`connected @${connection.handle}`, connection.handle === handle)
  const text = 'Größe from the demo: https://temporal.io #durable'
  const accepted = await accept({ ...stage, connectionId: connection.id }, text)
  const post = await client.untilSettled(accepted.data.id)
  for (const delivery of post.deliveries) await showDelivery({ ...stage, connectionId: connection.id }, delivery)
  const records = await pds.listPosts(did)
  facts.check(
    'its repository holds exactly this one record',
    records.length === 1 && records[0]?.record['text'] === text,
  )
  const { facets } = (records[0]?.record ?? {}) as { facets?: { index: { byteStart: number; byteEnd: number } }[] }
  const marked = (facets ?? []).map(({ index }) =>
    Buffer.from(text).subarray(index.byteStart, index.byteEnd).toString(),
  )
  facts.check(
    `its link and tag lie at the right bytes: ${marked.join(' ')}`,
    marked.join(' ') === 'https://temporal.io #durable',
  )
}
