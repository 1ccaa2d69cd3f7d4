import { createOrganisation } from '../../src/accounts/repository.js'
import { countSuccess, requireQuota } from '../../src/accounts/usage.js'
import { limitsOf } from '../../src/accounts/plans.js'
import { newId } from '../../src/ids.js'
import { insertPost } from '../../src/relay/posts/repository.js'
import { createTestDatabase, type TestDatabase } from '../support/database.js'

let database: TestDatabase
let organisationId: string

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  organisationId = await createOrganisation(database.sql, { name: 'Test' })
})
afterAll(() => database.drop())

async function aPost({ daysAgo = 0 } = {}): Promise<string> {
  const by = { organisationId, kind: 'key', id: 'key_1', name: 'x' } as const
  const post = { content: { text: 'x' }, overrides: {}, validation: 'lenient', draft: false, warnings: [] } as const
  const id = newId('post')
  const delivery = { id: newId('dlv'), connectionId: newId('conn'), platform: 'sandbox', handle: 'x', overrides: null }
  await insertPost(database.sql, by, { ...post, id, warnings: [], scheduledAt: null, timezone: null }, [
    { ...delivery, warnings: [], contentHash: Buffer.alloc(32), refusal: null },
  ])
  await database.sql`update posts set created_at = created_at - ${daysAgo} * interval '1 day' where id = ${id}`
  return id
}

async function used() {
  const [row] = await database.sql`
    select sum(posts)::int as posts, sum(deliveries)::int as deliveries,
           sum(accepted_posts)::int as "acceptedPosts", sum(accepted_deliveries)::int as "acceptedDeliveries"
      from usage where organisation_id = ${organisationId}`
  return { ...row }
}

const limits = (deliveries_per_month: number) => limitsOf('scale', { deliveries_per_month })

test('what goes out in another month than it was due in was not expected there, and is then', async () => {
  const postId = await aPost({ daysAgo: 40 })
  await countSuccess(database.sql, { organisationId, postId })
  expect(await used()).toEqual({ posts: 1, deliveries: 1, acceptedPosts: 1, acceptedDeliveries: 1 })
  await countSuccess(database.sql, { organisationId, postId: await aPost() })
  expect(await used()).toEqual({ posts: 2, deliveries: 2, acceptedPosts: 1, acceptedDeliveries: 1 })
})

test('far from a limit rows are not counted; near it they are, so that what failed is given back', async () => {
  const accept = async (max: number) =>
    requireQuota(database.sql, { organisationId, limits: limits(max) }, await aPost())
  await accept(10_000)
  await database.sql`update usage set accepted_deliveries = 9_400 where organisation_id = ${organisationId}`
  await accept(10_000) // a hundred more than the margin are left
  await database.sql`update usage set accepted_deliveries = 20_000 where organisation_id = ${organisationId}`
  await accept(10_000) // nearly all of them came to nothing: three are open
  await expect(accept(3)).rejects.toMatchObject({
    code: 'quota_exceeded',
    details: { limit: 'deliveries_per_month', max: 3, used: 3 },
  })
})
