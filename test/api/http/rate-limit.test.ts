import { countRequest } from '../../../src/accounts/rate-window.js'
import { startApp, type App } from '../../support/app.js'

let app: App

beforeAll(async () => {
  app = await startApp({ worker: false })
})
afterAll(() => app.stop())

test('every answer to a key carries its window, errors too; over it: 429 with Retry-After', async () => {
  const tenant = await app.tenant(undefined, { limits: { requests_per_minute: 20 } })
  const answers = []
  for (let at = 0; at < 50; at++) answers.push(await tenant.call('GET', at % 2 ? '/v1/posts' : '/v1/posts/nothing'))
  for (const { headers } of answers) {
    expect(headers.get('x-ratelimit-limit')).toBe('20')
    expect(Number(headers.get('x-ratelimit-reset')) * 1000).toBeGreaterThan(Date.now() - 1000)
  }
  const refused = answers.filter(({ status }) => status === 429)
  // The minute may turn once on the way.
  expect(refused.length).toBeGreaterThanOrEqual(10)
  expect(refused[0]?.body.error).toMatchObject({ code: 'rate_limited', details: { retry_after: expect.any(Number) } })
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(refused[0]?.headers.get('x-ratelimit-remaining')).toBe('0')
  expect((await (await app.tenant()).call('GET', '/v1/posts')).status).toBe(200)
})

test('of 200 requests at once exactly as many pass as the limit says', async () => {
  const windows = await Promise.all(Array.from({ length: 200 }, () => countRequest(app.sql, 'key_parallel', 30)))
  const turns = new Set(windows.map(({ reset }) => reset)).size
  expect(windows.filter(({ exceeded }) => !exceeded).length).toBeLessThanOrEqual(30 * turns)
  expect(windows.filter(({ exceeded }) => !exceeded).length).toBeGreaterThanOrEqual(30)
})

test('a request without a key has no window', async () => {
  expect((await app.call('GET', '/v1/platforms')).headers.has('x-ratelimit-limit')).toBe(false)
})
