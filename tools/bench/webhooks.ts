import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createOrganisation } from '../../src/accounts/repository.js'
import { limitsOf } from '../../src/accounts/plans.js'
import { readConfig } from '../../src/config.js'
import type { Database } from '../../src/db/client.js'
import { newId } from '../../src/ids.js'
import { createPlatforms } from '../../src/relay/platforms/index.js'
import { createPost } from '../../src/relay/posts/create-post.js'
import { CreatePost } from '../../src/relay/posts/schema.js'
import { insertEndpoint } from '../../src/webhooks/endpoints/repository.js'
import { makeSecret } from '../../src/webhooks/endpoints/secret.js'
import { quantile } from './statistics.js'

/** A receiver in the bench's own process: what comes to `/dead/…` is never answered. */
export interface BenchReceiver {
  host: string
  /** How long after its event each request to a living endpoint came, in milliseconds. */
  lagsMs: number[]
  stop(): void
}

/** Starts it on a free port. */
export async function startBenchReceiver(): Promise<BenchReceiver> {
  const lagsMs: number[] = []
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/dead')) return
    const at = Date.now()
    void text(request).then((body) => {
      lagsMs.push(at - Date.parse((JSON.parse(body) as { created_at: string }).created_at))
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, lagsMs, stop }
}

interface Fleet {
  organisations: number
  /** Endpoints of each that answer, and as many beside them that hang. */
  alive: number
}

/** How long an event takes to its first attempt at endpoints that answer, in milliseconds, and the same with as many beside them that hang. Each
 *  organisation has one event, told to all its endpoints. */
export async function measureWebhooks(database: Database, receiver: BenchReceiver, fleet: Fleet) {
  const tell = async (dead: number) => {
    const organisations = await Promise.all(
      Array.from({ length: fleet.organisations }, () =>
        openOrganisation(database, receiver.host, { alive: fleet.alive, dead }),
      ),
    )
    receiver.lagsMs.length = 0
    for (const organisationId of organisations) await tellOnce(database, organisationId)
    const expected = fleet.organisations * fleet.alive
    const deadline = Date.now() + 60_000
    while (receiver.lagsMs.length < expected) {
      if (Date.now() > deadline) throw new Error(`${receiver.lagsMs.length} of ${expected} endpoints were told`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return { p50: quantile(receiver.lagsMs, 0.5), p99: quantile(receiver.lagsMs, 0.99) }
  }
  await tell(0) // warms it up
  return { healthy: await tell(0), withDead: await tell(fleet.alive) }
}

async function openOrganisation(
  database: Database,
  host: string,
  { alive, dead }: { alive: number; dead: number },
): Promise<string> {
  const { keyEncryptionKeys } = readConfig({ DATABASE_URL: 'postgres://x' })
  const organisationId = await createOrganisation(database, { name: 'Bench', limits: { webhook_endpoints: -1 } })
  const paths = [
    ...Array.from({ length: alive }, (_, at) => `/alive/${at}`),
    ...Array.from({ length: dead }, (_, at) => `/dead/${at}`),
  ]
  for (const path of paths) {
    const id = newId('whk')
    const { sealed, last4 } = makeSecret({ organisationId, id }, keyEncryptionKeys)
    await insertEndpoint(database, organisationId, {
      id,
      url: `http://${host}${path}`,
      events: ['*'],
      description: null,
      sealed,
      last4,
    })
  }
  return organisationId
}

/** A draft, whose event is told like any other. */
async function tellOnce(database: Database, organisationId: string): Promise<void> {
  const caller = {
    organisationId,
    kind: 'key' as const,
    id: 'bench',
    name: 'bench',
    scopes: [],
    plan: 'enterprise' as const,
  }
  const platforms = createPlatforms({ sandboxUrl: undefined })
  const body = CreatePost.parse({ content: { text: 'told' }, draft: true })
  await database.begin((tx) =>
    createPost(tx, { caller: { ...caller, limits: limitsOf('enterprise', {}), timezone: 'UTC' }, platforms }, body),
  )
}
