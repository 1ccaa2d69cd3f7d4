import { startApp, type App } from '../../support/app.js'
import { until } from '../../support/until.js'

let app: App
beforeAll(async () => {
  app = await startApp({ worker: false, env: { LOG_LEVEL: 'info' } })
})
afterAll(() => app.stop())

interface Line {
  level: number
  msg: string
  request_id?: string
}

const linesOf = (requestId: string | null) =>
  app.logs.map((line) => JSON.parse(line) as Line).filter((line) => line.request_id === requestId)

const shown = async (answer: { headers: Headers }) => {
  const id = answer.headers.get('x-request-id')
  await until('its line is written', () => linesOf(id).length > 0)
  return linesOf(id)
}

test('a request is one line: its route, status, time and id; no address, no body', async () => {
  const tenant = await app.tenant()
  const connection = await tenant.connect('canary-name')
  const body = { content: { text: 'canary-text' }, connection_ids: [connection], external_id: 'canary-external' }
  const post = await tenant.call<{ id: string }>('POST', '/v1/posts', body)
  const path = `/v1/posts/${post.body.data.id}`
  const rest = { level: 30, ms: expect.any(Number) as number, msg: 'request.answered' }
  const cases = [
    [post, { method: 'POST', route: '/v1/posts', status: 202 }],
    [
      await tenant.call('GET', '/v1/posts?external_id=canary-external'),
      { method: 'GET', route: '/v1/posts', status: 200 },
    ],
    [await tenant.call('GET', path), { method: 'GET', route: '/v1/posts/{id}', status: 200 }],
    [await tenant.call('PUT', path), { method: 'PUT', route: '/v1/posts/{id}', status: 405 }],
    [await tenant.call('GET', '/v1/canary-nothing'), { method: 'GET', route: 'none', status: 404 }],
    [await tenant.call('GET', '/v1/canary-%ff'), { method: 'GET', route: 'none', status: 422 }],
  ] as const
  for (const [answer, line] of cases) {
    const lines = await shown(answer)
    expect(lines).toEqual([expect.objectContaining({ ...rest, ...line })])
    expect(Object.keys(lines[0]!).sort()).toEqual([
      'level',
      'method',
      'ms',
      'msg',
      'name',
      'pid',
      'request_id',
      'route',
      'status',
      'time',
    ])
  }
  expect(app.logs.join('\n')).not.toContain('canary')
  expect(app.logs.join('\n')).not.toContain(tenant.key)
})

test('health and readiness, asked every second, are not told at info', async () => {
  for (const path of ['/healthz', '/readyz']) await fetch(`${app.url}${path}`)
  await shown(await app.call('GET', '/v1/platforms'))
  expect(app.logs.filter((line) => /healthz|readyz/.test(line))).toEqual([])
})
