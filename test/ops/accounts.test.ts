import { startApp, type App } from '../support/app.js'
import { ops } from '../support/ops.js'

let app: App
beforeAll(async () => {
  app = await startApp({ worker: false })
})
afterAll(() => app.stop())

const run = (...args: string[]) => ops(args, { DATABASE_URL: app.database.url })
const ask = (key: string, method = 'GET', path = '/v1/posts', body?: object) =>
  app.call(method, path, body, { authorization: `Bearer ${key}` })

test('an operator makes an organisation and its first key, and both are written down', async () => {
  const made = await run('org', 'create', 'Acme Press', '--plan', 'team')
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^org_\S+$/) })
  const key = (await run('key', 'create', made.out, '--name', 'first')).out
  expect((await ask(key)).status).toBe(200)
  const billing = await ask(key, 'GET', '/v1/billing')
  expect(billing.body.data).toMatchObject({ plan: { code: 'team' } })
  expect((await run('org', 'list')).out).toContain(`${made.out}  team  1 keys  Acme Press`)

  const rows = await app.sql<{ action: string; kind: string; organisation_id: string | null }[]>`
    select action, actor ->> 'kind' as kind, organisation_id from audit_log order by id`
  expect([...rows]).toEqual([
    { action: 'organisation.created', kind: 'operator', organisation_id: null },
    { action: 'key.created', kind: 'operator', organisation_id: made.out },
  ])
})

test('a key has the scopes that were named and no other, and ends when it is revoked', async () => {
  const { out: organisation } = await run('org', 'create', 'Readers')
  const { out: key } = await run('key', 'create', organisation, '--name', 'reader', '--scopes', 'read')
  expect((await ask(key)).status).toBe(200)
  const refused = await ask(key, 'POST', '/v1/posts', { content: { text: 'x' }, connection_ids: [] })
  expect(refused.body.error.code).toBe('insufficient_scope')
  const [row] = await app.sql<{ id: string }[]>`select id from api_keys where organisation_id = ${organisation}`
  expect((await run('key', 'revoke', organisation, row!.id)).out).toMatch(/ is revoked since \d{4}/)
  expect((await ask(key)).status).toBe(401)
})

test.each([
  [['org', 'create'], /takes one name/],
  [['org', 'create', 'A', '--plan', 'gold'], /There is no plan "gold"; there are free/],
  [['key', 'create', 'org_x'], /takes an organisation and --name/],
  [['key', 'create', 'org_x', '--name', 'n'], /There is no organisation org_x\. Nothing was made/],
  [['key', 'create', 'org_x', '--name', 'n', '--scopes', 'write'], /--scopes takes some of read,publish/],
  [['key', 'revoke', 'org_x', 'key_x'], /There is no key key_x of org_x\. Nothing was changed/],
  [['org', 'list', 'all'], /takes nothing/],
])('%j is refused in words', async (args, words) => {
  const before = await app.sql`select 1 from audit_log`
  expect(await run(...args)).toMatchObject({ code: 1, out: '', err: expect.stringMatching(words) })
  expect(await app.sql`select 1 from audit_log`).toHaveLength(before.length)
})
