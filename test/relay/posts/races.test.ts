import { createOrganisation } from '../../../src/accounts/repository.js'
import { limitsOf } from '../../../src/accounts/plans.js'
import type { Caller } from '../../../src/accounts/schema.js'
import type { Transaction } from '../../../src/db/client.js'
import { newId } from '../../../src/ids.js'
import { claimDelivery } from '../../../src/relay/deliveries/ledger.js'
import { publishPost, retryPost, schedulePost } from '../../../src/relay/posts/actions.js'
import { cancelPost } from '../../../src/relay/posts/cancel-post.js'
import { insertPost } from '../../../src/relay/posts/repository.js'
import { createTestDatabase, type TestDatabase } from '../../support/database.js'

const ROUNDS = 25

let database: TestDatabase
let caller: Caller

beforeAll(async () => {
  database = await createTestDatabase()
  const organisationId = await createOrganisation(database.sql, { name: 'Test' })
  caller = {
    organisationId,
    kind: 'key',
    id: 'key_1',
    name: 'x',
    scopes: [],
    plan: 'enterprise',
    limits: limitsOf('enterprise', {}),
    timezone: 'UTC',
  }
})
afterAll(() => database.drop())

const sql = () => database.sql
const soon = () => new Date(Date.now() + 3_600_000).toISOString()
const DUE = new Date(Date.now() - 1_000)

async function aDuePost() {
  const [postId, deliveryId] = [newId('post'), newId('dlv')]
  const post = { id: postId, content: { text: 'x' }, overrides: {}, validation: 'lenient', draft: false } as const
  const delivery = { id: deliveryId, connectionId: newId('conn'), platform: 'sandbox', handle: 'x', overrides: null }
  await insertPost(sql(), caller, { ...post, scheduledAt: DUE, timezone: null, warnings: [] }, [
    { ...delivery, warnings: [], contentHash: Buffer.alloc(32), refusal: null },
  ])
  return { postId, run: { deliveryId, generation: 1 } }
}

const ACTIONS = {
  publish: (tx: Transaction, id: string) => publishPost(tx, caller, id),
  schedule: (tx: Transaction, id: string) => schedulePost(tx, caller, id, { scheduled_at: soon() }),
  cancel: (tx: Transaction, id: string) => cancelPost(tx, caller.organisationId, id),
  retry: (tx: Transaction, id: string) => retryPost(tx, caller, id),
}

type Action = keyof typeof ACTIONS
type Answered = Record<string, unknown> & { status: string }

/** What the action answered, or the code of its refusal. */
async function act(action: Action, postId: string): Promise<Answered> {
  return sql()
    .begin(async (tx): Promise<unknown> => ACTIONS[action](tx, postId))
    .then(
      (answer) => answer as unknown as Answered,
      (error: unknown) => ({ status: (error as { details: { reason: string } }).details.reason }),
    )
}

const rowOf = async (id: string) =>
  (
    await sql()<
      { status: string; due: boolean }[]
    >`select status, due_at <= now() as due from deliveries where id = ${id}`
  )[0]!

describe('an action and the claim at the same moment', () => {
  test('publish: the delivery is claimed once, before or after', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { postId, run } = await aDuePost()
      const [claim, answer] = await race(run, () => act('publish', postId))
      // One that waited for the action judges by the moment it began, at which the post was not due yet: its run comes back at once.
      expect(claim ?? (await claimOf(run))).not.toBeNull()
      expect(['queued', 'publishing', 'no_target', 'invalid_state']).toContain(answer.status)
      expect(await rowOf(run.deliveryId)).toMatchObject({ status: 'processing' })
    }
  })

  test('schedule: it is moved and not claimed, or claimed and listed as skipped', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { postId, run } = await aDuePost()
      const [claim, answer] = await race(run, () => act('schedule', postId))
      const skipped = (answer['skipped'] as unknown[] | undefined)?.length ?? 0
      expect(skipped).toBe(claim ? 1 : 0)
      expect(await rowOf(run.deliveryId)).toEqual({ status: claim ? 'processing' : 'pending', due: claim !== null })
    }
  })

  test('cancel: it is cancelled and not claimed, or claimed and kept', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { postId, run } = await aDuePost()
      const [claim, answer] = await race(run, () => act('cancel', postId))
      expect([(answer['cancelled'] as unknown[]).length, (answer['kept'] as unknown[]).length]).toEqual(
        claim ? [0, 1] : [1, 0],
      )
      expect((await rowOf(run.deliveryId)).status).toBe(claim ? 'processing' : 'cancelled')
    }
  })

  test('retry: a new generation is claimed once, the old one never', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { postId, run } = await aDuePost()
      await sql()`update deliveries set status = 'failed', error_code = 'platform_error' where id = ${run.deliveryId}`
      await sql()`update posts set status = 'failed' where id = ${postId}`
      const [claim, answer] = await race(run, () => act('retry', postId))
      expect([claim, answer['requeued']]).toEqual([null, [run.deliveryId]])
      const next = { ...run, generation: 2 }
      const claims = await Promise.all([claimOf(next), claimOf(next)])
      expect(claims.filter(Boolean)).toHaveLength(1)
    }
  })
})

const claimOf = (run: { deliveryId: string; generation: number }) =>
  claimDelivery(sql(), run, { number: 0, clientKey: newId('dlv') })

/** Either may begin first. */
function race(run: { deliveryId: string; generation: number }, action: () => Promise<Answered>) {
  if (Math.random() < 0.5) return Promise.all([claimOf(run), action()])
  const acting = action()
  return Promise.all([claimOf(run), acting])
}

test('any two actions at once leave a post that one order of them explains, and never deadlock', async () => {
  const names = Object.keys(ACTIONS) as Action[]
  for (const first of names)
    for (const second of names) {
      const { postId, run } = await aDuePost()
      const answers = await Promise.all([act(first, postId), act(second, postId)])
      const row = await rowOf(run.deliveryId)
      expect(answers.every(({ status }) => status !== undefined)).toBe(true)
      if (first === 'cancel' || second === 'cancel') expect(row.status).toBe('cancelled')
      else expect(row.status).toBe('pending')
      const [post] = await sql()<{ status: string }[]>`select status from posts where id = ${postId}`
      expect(post!.status === 'cancelled').toBe(row.status === 'cancelled')
    }
})
