import { until } from '../support/until.js'
import { startApp, type App, type Tenant } from '../support/app.js'

let app: App
let tenant: Tenant

beforeAll(async () => {
  app = await startApp()
  tenant = await app.tenant()
})
afterAll(() => app.stop())

/** Publishes to an account of its own, as some refusals end the account. */
async function publish(text: string) {
  const connection = await tenant.connect(text)
  const post = await tenant.settled((await tenant.post(text, [connection])).id, 50_000)
  const delivery = post.deliveries[0]!
  const attempts = (await tenant.attempts(delivery)).toReversed()
  return { post, delivery, attempts, connection, accepted: await app.timesAccepted(text) }
}

test('a refusal inside a 200 is a refusal: nothing is looked up, nothing sent again', async () => {
  const { delivery, attempts, accepted } = await publish('[sandbox:content_rejected@200]')
  expect([delivery.status, delivery.error_code, accepted]).toEqual(['rejected', 'content_rejected', 0])
  expect(attempts).toMatchObject([{ state: 'refused', http_status: 200, look_up: null }])
})

async function statusOf(connection: string): Promise<string | undefined> {
  const [row] = await app.sql<{ status: string }[]>`select status from connections where id = ${connection}`
  return row?.status
}

describe('a delivery ends with the code the text asks for', () => {
  test.concurrent.each([
    ['validation_failed', 'rejected', 1, 0],
    ['content_rejected', 'rejected', 1, 0],
    ['media_rejected', 'rejected', 1, 0],
    ['unsupported_capability', 'rejected', 1, 0],
    ['duplicate_content', 'rejected', 1, 0],
    ['auth_expired', 'failed', 2, 0],
    ['auth_revoked', 'failed', 1, 0],
    ['connection_unavailable', 'failed', 1, 0],
    ['quota_exceeded', 'failed', 1, 0],
    ['rate_limited', 'failed', 8, 0],
    ['platform_unavailable', 'failed', 8, 0],
    ['platform_error', 'failed', 8, 0],
    ['publish_indeterminate', 'failed', 1, 1],
  ])('%s: %s after %i attempts', async (code, status, count, accepted) => {
    const { delivery, attempts, ...rest } = await publish(`[sandbox:${code}]`)
    expect([delivery.status, delivery.error_code]).toEqual([status, code])
    expect(attempts).toHaveLength(count)
    expect(rest.accepted).toBe(accepted)
    expect(delivery.error?.next_step).toMatch(/\w/)
    expect(rest.post.status).toBe('failed')
  })
})

describe('what passes by itself is waited for', () => {
  test.concurrent.each([
    ['[sandbox:rate_limited*2]', ['refused', 'refused', 'accepted']],
    ['[sandbox:platform_unavailable*1]', ['unknown', 'accepted']],
    ['[sandbox:platform_error*1]', ['unknown', 'accepted']],
    ['[sandbox:publishing_paused*2]', ['unknown', 'unknown', 'accepted']],
    ['[sandbox:auth_expired*1]', ['refused', 'accepted']],
    ['[sandbox:slow=1]', ['accepted']],
  ])('%s', async (text, states) => {
    const { delivery, attempts, accepted } = await publish(text)
    expect([delivery.status, delivery.error_code]).toEqual(['succeeded', null])
    expect(attempts.map(({ state }) => state)).toEqual(states)
    expect(accepted).toBe(1)
  })
})

test('a 5xx is sent again only after the platform said that nothing landed', async () => {
  const { attempts } = await publish('proof [sandbox:platform_error*1]')
  expect(attempts[0]).toMatchObject({ state: 'unknown', http_status: 502, look_up: { result: 'absent' } })
})

test('a line cut after acceptance is looked up, and the post is there once', async () => {
  const { delivery, attempts, accepted } = await publish('cut [sandbox:drop]')
  expect(delivery.status).toBe('succeeded')
  expect(delivery.remote_url).toContain('/sandbox/timelines/')
  expect(attempts).toMatchObject([{ state: 'accepted', look_up: { result: 'found' } }])
  expect(accepted).toBe(1)
})

test('an answer slower than the call may take is looked up as well', async () => {
  const { delivery, accepted } = await publish('slow [sandbox:slow=4]')
  expect([delivery.status, accepted]).toEqual(['succeeded', 1])
})

test('what cannot be looked up is never sent again and says so', async () => {
  const { delivery, attempts, accepted } = await publish('blind [sandbox:drop-blind]')
  expect([delivery.status, delivery.error_code, accepted]).toEqual(['failed', 'publish_indeterminate', 1])
  expect(attempts).toMatchObject([{ state: 'unknown', look_up: { result: 'cannot_ask' } }])
})

test('a paused destination is waited for without an end, and says what it waits for', async () => {
  const connection = await tenant.connect('paused')
  const { id } = await tenant.post('[sandbox:publishing_paused]', [connection])
  await until(
    'it says so',
    async () => (await tenant.read(id)).deliveries[0]!.waiting_for?.code === 'publishing_paused',
  )
  expect((await tenant.read(id)).settled_at).toBeNull()
})

test('an account whose token cannot be renewed asks to be reconnected; one that withdrew is revoked', async () => {
  const expired = await publish('a [sandbox:auth_expired]')
  const revoked = await publish('b [sandbox:auth_revoked]')
  expect([await statusOf(expired.connection), await statusOf(revoked.connection)]).toEqual([
    'reauth_required',
    'revoked',
  ])
})

test('connecting the same account again keeps its id and makes it active', async () => {
  const { connection } = await publish('again [sandbox:auth_revoked]')
  expect(await tenant.connect('again [sandbox:auth_revoked]')).toBe(connection)
  expect(await statusOf(connection)).toBe('active')
})

test('the sandbox tells its rate limit and keeps a list that cannot be changed', async () => {
  const connection = await tenant.connect('limits')
  await tenant.settled((await tenant.post('for the list', [connection])).id)
  await expect(app.sql`delete from sandbox_requests`).rejects.toThrow(/append-only/)
  await expect(app.sql`update sandbox_requests set outcome = 'x'`).rejects.toThrow(/append-only/)
  const opened = await app.call<never>('POST', '/sandbox/api/accounts', { owner: 'someone', name: 'limits' })
  const { token } = opened.body as unknown as { token: string }
  const answer = await app.call(
    'POST',
    '/sandbox/api/posts',
    { text: 'direct', client_key: 'k' },
    { authorization: `Bearer ${token}` },
  )
  expect(Number(answer.headers.get('x-ratelimit-remaining'))).toBe(Number(answer.headers.get('x-ratelimit-limit')) - 1)
  expect(Number(answer.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000)
})
