import { crashApi, crashWorkerAt, ENDS_OF_CRASHES, SANDBOX } from '../support/crash.js'

describe('a worker killed while it delivers loses nothing and doubles nothing', () => {
  test.concurrent.each(ENDS_OF_CRASHES)('at %s', async (point, ledger) => {
    const { post, attempts, accepted } = await crashWorkerAt(point, SANDBOX, `killed at ${point}`)
    expect(accepted).toBe(1)
    expect(post.status).toBe('published')
    expect(attempts).toEqual(ledger)
  })

  test.concurrent.each(['call.answered', 'outcome.ready'] as const)(
    'at %s of a post that cannot be looked up',
    async (point) => {
      const { post, accepted } = await crashWorkerAt(point, SANDBOX, `blind at ${point} [sandbox:drop-blind]`)
      expect([accepted, post.status, post.deliveries[0]?.error_code]).toEqual([1, 'failed', 'publish_indeterminate'])
    },
  )
})

test.each(['call.answered', 'outcome.ready'] as const)(
  'at %s of a refusal that ends the connection: refused again, and only then flagged',
  async (point) => {
    const { post, accepted } = await crashWorkerAt(point, SANDBOX, `${point} [sandbox:auth_revoked]`)
    expect([accepted, post.deliveries[0]?.error_code]).toEqual([0, 'auth_revoked'])
  },
)

test('an api killed between commit and start: the post is kept, and goes out once', async () => {
  const { posts, post, accepted } = await crashApi(SANDBOX, 'api killed')
  expect([posts, post.status, accepted]).toEqual([1, 'published', 1])
})
