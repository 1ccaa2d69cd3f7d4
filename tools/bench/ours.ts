import { createKey, createOrganisation, findCaller } from '../../src/accounts/repository.js'
import { SCOPES } from '../../src/accounts/schema.js'
import { DEV_ONLY_PEPPER } from '../../src/config.js'
import type { Database } from '../../src/db/client.js'
import { createPlatforms } from '../../src/relay/platforms/index.js'
import { CreatePost } from '../../src/relay/posts/schema.js'
import { createPost } from '../../src/relay/posts/create-post.js'
import { RelayClient } from '../demo/client.js'

/** An organisation without a rate limit, and accounts enough that the sandbox's own limit (6,000 a minute each) is far. */
export interface Tenant {
  key: string
  connections: string[]
}

const ACCOUNTS = 10

/** Makes the organisation of a bench, its key and its sandbox accounts. */
export async function openTenant(database: Database, api: string): Promise<Tenant> {
  const limits = { requests_per_minute: -1 }
  const organisationId = await createOrganisation(database, { name: 'Bench', limits })
  const { key } = await createKey(database, organisationId, {
    name: 'bench',
    scopes: [...SCOPES],
    pepper: DEV_ONLY_PEPPER,
  })
  const client = new RelayClient(api, key)
  const connect = async (at: number) => {
    const body = { platform: 'sandbox', fields: { name: `bench ${at}` } }
    return (await client.call<{ id: string }>('POST', '/v1/connections', body)).data.id
  }
  return { key, connections: await Promise.all(Array.from({ length: ACCOUNTS }, (_, at) => connect(at))) }
}

/** Accepts `count` posts as the API does, all in one transaction, with their outbox lines held back; answers the ids of the posts. */
export async function acceptHeld(
  database: Database,
  tenant: Tenant,
  { count, dueAt }: { count: number; dueAt?: Date },
) {
  const caller = await findCaller(database, tenant.key, { pepper: DEV_ONLY_PEPPER })
  if (!caller) throw new Error('The key of the bench is not valid')
  const platforms = createPlatforms({ sandboxUrl: 'http://127.0.0.1:1' }) // only projects here
  return database.begin(async (tx) => {
    const ids: string[] = []
    for (let at = 0; at < count; at++) {
      const post = await createPost(
        tx,
        { caller, platforms },
        CreatePost.parse({
          content: { text: `bench ${at}` },
          connection_ids: [tenant.connections[at % ACCOUNTS]],
          ...(dueAt && { scheduled_at: dueAt.toISOString() }),
        }),
      )
      ids.push(post.id)
    }
    await tx`update outbox set next_try_at = 'infinity'`
    return ids
  })
}

/** Lets the lines go, as the commit of an acceptance would; answers when, in Unix milliseconds. */
export async function release(database: Database): Promise<number> {
  const at = Date.now()
  await database`with held as ( /* bench */ update outbox set next_try_at = now()) select pg_notify('outbox', '')`
  return at
}

/** When the platform had each delivery, in milliseconds after it was due, and when the last was settled, in Unix milliseconds.
 *  Null: some are not settled yet. */
export async function readOutcome(
  database: Database,
  postIds: string[],
): Promise<{ lateMs: number[]; lastAt: number } | null> {
  const rows = await database<{ late_ms: number; settled_ms: number | null }[]>`
    select /* bench */ extract(epoch from r.received_at - d.due_at)::float8 * 1000 as late_ms, extract(epoch from d.settled_at)::float8 * 1000 as settled_ms
      from deliveries d join delivery_parts p on p.delivery_id = d.id join sandbox_requests r on r.client_key = p.client_key
     where d.post_id in ${database(postIds)} and d.status = 'succeeded'`
  if (rows.length > postIds.length) throw new Error('Something was published twice')
  if (rows.length < postIds.length) return null
  return { lateMs: rows.map((row) => row.late_ms), lastAt: Math.max(...rows.map((row) => row.settled_ms ?? 0)) }
}
