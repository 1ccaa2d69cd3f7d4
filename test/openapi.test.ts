import { relayRoutes } from '../api/relay/index.js'
import { startApp, type App } from './support/app.js'
import { Contract } from './support/contract.js'

let app: App
interface Operation {
  operationId: string
  security?: unknown[]
  'x-required-scope'?: string
}
let document: {
  openapi: string
  info: { version: string }
  paths: Record<string, Record<string, Operation>>
  components: { schemas: object }
}

beforeAll(async () => {
  app = await startApp({ worker: false })
  document = (await (await fetch(`${app.url}/v1/openapi.json`)).json()) as typeof document
})
afterAll(() => app.stop())

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )

test('needs no key and holds every route, each under a name of its own', () => {
  expect([document.openapi, document.info.version]).toEqual(['3.1.0', '0.2.0'])
  expect(
    operations()
      .map(({ path, method }) => `${method} ${path}`)
      .sort(),
  ).toEqual(relayRoutes.map(({ path, method }) => `${method} ${path}`).sort())
  expect(Object.keys(document.paths).filter((path) => !path.startsWith('/v1/'))).toEqual([])
  const names = operations().map(({ operationId }) => operationId)
  expect(new Set(names).size).toBe(names.length)
  expect(Object.keys(document.components.schemas)).toEqual(
    expect.arrayContaining(['Post', 'Delivery', 'Connection', 'Error']),
  )
  expect(JSON.stringify(document)).not.toContain('#/$defs/')
})

test('every operation without the scope it names is 403 and says which it needs; without a key 401, unless it needs none', async () => {
  const none = await app.tenant([])
  for (const { path, method, security, 'x-required-scope': scope } of operations()) {
    const address = path.replace('{id}', path.includes('platforms') ? 'sandbox' : 'x')
    const anonymous = await app.call(method.toUpperCase(), address)
    if (security) {
      expect(anonymous.status).toBe(200)
      continue
    }
    expect(anonymous.status).toBe(401)
    const { status, body } = await none.call(method.toUpperCase(), address)
    expect([status, body.error.details]).toEqual([403, { scope }])
  }
})

test('the check that every test makes notices an answer of another shape or status', () => {
  const contract = new Contract(document as never)
  const error = { error: { code: 'not_found', message: 'x', details: {} } }
  expect(() => contract.check('GET', '/v1/posts/x', 404, error)).not.toThrow()
  expect(() => contract.check('GET', '/v1/posts/x', 404, { error: { ...error.error, code: 'oops' } })).toThrow()
  expect(() => contract.check('GET', '/v1/posts/x', 418, error)).toThrow(/does not tell of/)
  expect(() =>
    contract.check('GET', '/v1/posts?limit=1', 200, { data: [{}], meta: { next_cursor: null, has_more: false } }),
  ).toThrow()
})
