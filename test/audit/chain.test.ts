import { chainAudit } from '../../src/audit/chain.js'
import { listAudit, writeAudit } from '../../src/audit/repository.js'
import { verifyAudit } from '../../src/audit/verify.js'
import { ops } from '../support/ops.js'
import { createTestDatabase, type TestDatabase } from '../support/database.js'

let database: TestDatabase
beforeEach(async () => {
  database = await createTestDatabase()
})
afterEach(() => database.drop())

const sql = () => database.sql
const actor = { kind: 'key', id: 'key_1', name: 'test' }

async function write(count: number, organisationId: string | null): Promise<void> {
  const deed = { organisationId, actor, action: 'post.created', requestId: 'r', ip: '192.0.2.1' } as const
  for (let at = 0; at < count; at++) await writeAudit(sql(), { ...deed, targetId: `post_${at}` })
}

/** As somebody would who owns the database. */
const tamper = (change: string) =>
  sql().begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx.unsafe(change)
  })

test('rows are chained per organisation, by one of several processes at once, and only once', async () => {
  await write(40, 'org_a')
  await write(30, 'org_b')
  await write(3, null)
  expect(await verifyAudit(sql())).toMatchObject({ rows: 0, unchained: 73 })
  const chained = await Promise.all([chainAudit(sql()), chainAudit(sql()), chainAudit(sql())])
  expect(chained.reduce((sum, count) => sum + count)).toBe(73)
  await write(2, 'org_a')
  await chainAudit(sql())
  expect(await verifyAudit(sql())).toEqual({ rows: 75, chains: 3, unchained: 0, broken: [] })
  const [last] = await sql()`select max(seq)::int as seq from audit_log where organisation_id = 'org_a'`
  expect(last).toEqual({ seq: 42 })
})

test('more rows than one batch are chained by one call', async () => {
  await sql()`
    insert into audit_log (id, organisation_id, actor, action, target)
    select 'aud_' || lpad(n::text, 32, '0'), 'org_' || n % 3, '{}', 'post.created', '{}' from generate_series(1, 2500) n`
  expect(await chainAudit(sql())).toBe(2_500)
  expect(await verifyAudit(sql())).toEqual({ rows: 2_500, chains: 3, unchained: 0, broken: [] })
})

test.each([
  [
    'changed content',
    `update audit_log set target = '{"kind": "post", "id": "other"}' where seq = 4`,
    'it was changed',
  ],
  ['a changed time', `update audit_log set at = at + interval '1 microsecond' where seq = 4`, 'it was changed'],
  ['another organisation’s', `update audit_log set organisation_id = 'org_b' where seq = 4`, 'number 1 is missing'],
  ['a row taken out', `delete from audit_log where seq = 3`, 'number 3 is missing'],
  [
    'a row rewritten with its hash',
    `update audit_log set actor = '{}', hash = sha256('x') where seq = 4`,
    'it was changed',
  ],
  [
    'a chain that goes on from elsewhere',
    `update audit_log set prev_hash = sha256('x') where seq = 4`,
    'it does not continue the row before it',
  ],
])('%s is found', async (_what, change, problem) => {
  await write(6, 'org_a')
  await chainAudit(sql())
  await tamper(change)
  const { broken } = await verifyAudit(sql())
  expect(broken.map((found) => found.problem)).toContainEqual(expect.stringContaining(problem))
})

test('a row is neither changed nor removed, chained or not', async () => {
  await write(2, 'org_a')
  const refused = async () => {
    for (const change of [
      sql()`update audit_log set ip = 'x'`,
      sql()`delete from audit_log`,
      sql()`truncate audit_log`,
      sql()`update audit_log set seq = 9, prev_hash = '\\x00', hash = '\\x00', ip = 'x'`,
    ])
      await expect(change).rejects.toThrow(/append-only/)
  }
  await refused()
  await chainAudit(sql())
  await refused()
  await expect(sql()`update audit_log set seq = seq + 10`).rejects.toThrow(/append-only/)
  expect((await listAudit(sql(), 'org_a', { limit: 10 })).rows).toHaveLength(2)
})

test('audit verify says what it found and what is not chained yet, and fails when a row was changed', async () => {
  const env = { DATABASE_URL: database.url }
  await write(3, 'org_a')
  await chainAudit(sql())
  await write(1, 'org_a')
  expect(await ops(['audit', 'verify'], env)).toEqual({
    code: 0,
    out: '3 rows in 1 chains, 1 not chained yet',
    err: '',
  })
  await tamper(`update audit_log set action = 'post.deleted' where seq = 2`)
  const { code, err } = await ops(['audit', 'verify'], env)
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^The audit log does not hold\. aud_\w+ of org_a: it was changed$/),
  ])
})

test('what an operator does is written down as the operator’s', async () => {
  const env = { DATABASE_URL: database.url, SANDBOX_URL: 'http://127.0.0.1:9' }
  await ops(['pause', 'sandbox', '--reason', 'x'], env)
  await ops(['pause', 'nowhere', '--reason', 'x'], env)
  await ops(['resume', 'sandbox'], env)
  await ops(['resume', 'sandbox'], env)
  await ops(['keys', 'rotate'], env)
  const rows = await sql()`select organisation_id, actor ->> 'kind' as kind, action, target from audit_log order by id`
  expect(rows.map((row) => [row['organisation_id'], row['kind'], row['action'], row['target'].id])).toEqual([
    [null, 'operator', 'platform.paused', 'sandbox'],
    [null, 'operator', 'platform.resumed', 'sandbox'],
    [null, 'operator', 'keys.rotated', 'dev-only'],
  ])
})
