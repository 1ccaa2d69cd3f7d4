import type { Post } from '../../../src/relay/posts/schema.js'
import { startApp, type App, type Tenant } from '../../support/app.js'

let app: App
let tenant: Tenant
let connection: string

beforeAll(async () => {
  app = await startApp({ worker: false })
  tenant = await app.tenant()
  connection = await tenant.connect()
})
afterAll(() => app.stop())

const body = (text: string) => ({ content: { text }, connection_ids: [connection], draft: true })
const ask = (key: string, text: string, by = tenant) =>
  by.call<Post>('POST', '/v1/posts', body(text), { 'idempotency-key': key })
const count = async (text: string) =>
  (await app.sql<[{ count: number }]>`select count(*)::int from posts where content ->> 'text' = ${text}`)[0].count

test('the same request again gets the same status and bytes, and does nothing', async () => {
  const first = await ask('again', 'again')
  const second = await ask('again', 'again')
  expect([first.status, second.status]).toEqual([202, 202])
  expect(second.body).toEqual(first.body)
  expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([null, 'true'])
  expect(first.headers.get('x-request-id')).not.toBe(second.headers.get('x-request-id'))
  expect(await count('again')).toBe(1)
})

test('fifty twins at once make one post, and leave the pool to others', async () => {
  const twins = Promise.all(Array.from({ length: 50 }, () => ask('twins', 'twins')))
  expect((await tenant.call('GET', '/v1/posts?limit=1')).status).toBe(200)
  const answers = await twins
  expect(new Set(answers.map(({ body: { data } }) => data.id)).size).toBe(1)
  expect(answers.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1)
  expect(await count('twins')).toBe(1)
})

test('twins that meet two processes make one post too', async () => {
  const keyed = {
    'idempotency-key': 'two processes',
    authorization: `Bearer ${tenant.key}`,
    'content-type': 'application/json',
  }
  const other = await app.startApi({ PORT: '0' })
  const urls = [app.url, `http://127.0.0.1:${other.facts['port']}`]
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      fetch(`${urls[at % 2]}/v1/posts`, {
        method: 'POST',
        headers: keyed,
        body: JSON.stringify(body('two processes')),
      }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
  expect(await count('two processes')).toBe(1)
})

test('another body under the same key is a conflict', async () => {
  await ask('reused', 'one')
  const { status, body: answer } = await ask('reused', 'two')
  expect([status, answer.error.code, answer.error.details]).toEqual([
    409,
    'idempotency_conflict',
    { reason: 'different_request' },
  ])
  expect(await count('two')).toBe(0)
})

test('the order of the keys of a body does not matter', async () => {
  const first = await ask('order', 'order')
  const { body: second } = await tenant.call<Post>(
    'POST',
    '/v1/posts',
    { draft: true, connection_ids: [connection], content: { text: 'order' } },
    { 'idempotency-key': 'order' },
  )
  expect(second.data.id).toBe(first.body.data.id)
})

test('a refusal frees the key', async () => {
  const refused = await tenant.call('POST', '/v1/posts', { content: { text: '' } }, { 'idempotency-key': 'freed' })
  expect(refused.status).toBe(422)
  expect((await ask('freed', 'freed')).status).toBe(202)
})

test('a key belongs to its organisation', async () => {
  await ask('mine', 'mine')
  const stranger = await app.tenant()
  const theirs = await stranger.connect()
  const answer = await stranger.call<Post>(
    'POST',
    '/v1/posts',
    { ...body('theirs'), connection_ids: [theirs] },
    { 'idempotency-key': 'mine' },
  )
  expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([202, null])
})

test('a key is forgotten after exactly 24 hours', async () => {
  const first = await ask('day', 'day')
  const age = (interval: string) =>
    app.sql`update idempotency_keys set created_at = now() - ${interval}::interval where key = 'day'`
  await age('23 hours 59 minutes 55 seconds')
  expect((await ask('day', 'day')).body.data.id).toBe(first.body.data.id)
  await age('24 hours 1 second')
  expect((await ask('day', 'day')).body.data.id).not.toBe(first.body.data.id)
})

test.each(['ü', 'x'.repeat(256), 'a\tb'])('the key %j is refused', async (key) => {
  const { status, body: answer } = await tenant.call('POST', '/v1/posts', body('bad key'), { 'idempotency-key': key })
  expect([status, answer.error.details['fields']]).toMatchObject([422, [{ path: 'Idempotency-Key' }]])
})
