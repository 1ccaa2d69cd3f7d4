import { startApp, type App, type Tenant } from '../support/app.js'
import { crashApi, crashWorkerAt, ENDS_OF_CRASHES, freezeWorkerAt, type Destination } from '../support/crash.js'
import { changeCredentials } from '../support/credentials.js'
import { ANSWERS, startFaultyProxy, type Fault, type FaultyProxy } from '../support/faulty-proxy.js'
import { startPds, type Pds } from './pds.js'

let pds: Pds
let proxy: FaultyProxy
let app: App
let tenant: Tenant
let handles = 0

beforeAll(async () => {
  pds = await startPds()
  proxy = await startFaultyProxy(pds.url)
  app = await startApp({ env: { EGRESS_ALLOW: `${new URL(proxy.url).host},${new URL(pds.url).host}` } })
  tenant = await app.tenant()
})
afterAll(async () => {
  await app.stop()
  await proxy.stop()
  await pds.stop()
})
afterEach(() => void proxy.faults.splice(0))

async function connectTo(service: string, by: Tenant): Promise<{ did: string; connectionId: string }> {
  const { did, handle, appPassword } = await pds.createAccount(`person${++handles}.test`)
  const fields = { service, identifier: handle, app_password: appPassword }
  const { body } = await by.call<{ id: string }>('POST', '/v1/connections', { platform: 'bluesky', fields })
  return { did, connectionId: body.data.id }
}

const CREATE = /createRecord/
const fault = (reply: Fault['reply'], forward: boolean): Fault => ({ path: CREATE, reply, forward })

type Cell = [
  what: string,
  faults: Fault[],
  ledger: string[],
  end: { status: string; code: string | null; landed: number },
]
const succeeds = { status: 'succeeded', code: null, landed: 1 }

/** One cell each: what the server does, the ledger afterwards, and how it ends. The server's own repository is the judge. */
const CELLS: Cell[] = [
  ['500, nothing done', [fault(ANSWERS.serverError, false)], ['unknown/absent', 'accepted'], succeeds],
  ['500 after it was done', [fault(ANSWERS.serverError, true)], ['accepted/found'], succeeds],
  ['429 with Retry-After', [fault(ANSWERS.rateLimited(1), false)], ['refused', 'accepted'], succeeds],
  ['a page of HTML with 502', [fault(ANSWERS.badGatewayPage, false)], ['unknown/absent', 'accepted'], succeeds],
  ['a page of HTML with 200', [fault(ANSWERS.welcomePage, false)], ['unknown/absent', 'accepted'], succeeds],
  ['a redirect', [fault(ANSWERS.redirect('http://127.0.0.1:9/'), false)], ['unknown/absent', 'accepted'], succeeds],
  ['no answer, nothing done', [fault('hold', false)], ['unknown/absent', 'accepted'], succeeds],
  ['no answer, but done', [fault('hold', true)], ['accepted/found'], succeeds],
  ['a cut line, nothing done', [fault('cut', false)], ['unknown/absent', 'accepted'], succeeds],
  ['a cut line, but done', [fault('cut', true)], ['accepted/found'], succeeds],
  [
    'a cut line, done, and the look-up fails twice',
    [fault('cut', true), { path: /getRecord/, times: 2, forward: false, reply: ANSWERS.serverError }],
    ['accepted/found'],
    succeeds,
  ],
  [
    'a cut line, done, and the look-up never answers',
    [fault('cut', true), { path: /getRecord/, times: Infinity, forward: false, reply: ANSWERS.serverError }],
    ['unknown/cannot_ask'],
    { status: 'failed', code: 'publish_indeterminate', landed: 1 },
  ],
]

describe('whatever the server does, nothing is lost and nothing doubled', () => {
  test.each(CELLS)('%s', async (what, faults, ledger, end) => {
    const { did, connectionId } = await connectTo(proxy.url, tenant)
    proxy.faults.push(...faults)
    const post = await tenant.settled((await tenant.post(what, [connectionId])).id, 60_000)
    const [delivery] = post.deliveries
    const attempts = (await tenant.attempts(delivery!)).toReversed()
    expect(attempts.map(({ state, look_up }) => [state, look_up?.result].filter(Boolean).join('/'))).toEqual(ledger)
    expect([delivery!.status, delivery!.error_code]).toEqual([end.status, end.code])
    expect(await pds.listPosts(did)).toHaveLength(end.landed)
  })
})

/** The server itself as destination; its repository counts. */
function repository(): Destination {
  let owner = ''
  return {
    env: { EGRESS_ALLOW: new URL(pds.url).host },
    async connect(by) {
      const { did, connectionId } = await connectTo(pds.url, by)
      owner = did
      return connectionId
    },
    count: async () => (await pds.listPosts(owner)).length,
  }
}

describe('a process lost on its way to the server', () => {
  test.concurrent.each(ENDS_OF_CRASHES)('a worker killed at %s', async (point, ledger) => {
    const { post, attempts, accepted } = await crashWorkerAt(point, repository(), `killed at ${point}`)
    expect([post.status, accepted]).toEqual(['published', 1])
    expect(attempts).toEqual(ledger)
  })

  test.concurrent('an api killed after it committed the post', async () => {
    const { posts, post, accepted } = await crashApi(repository(), 'api killed')
    expect([posts, post.status, accepted]).toEqual([1, 'published', 1])
  })

  test.concurrent('a worker frozen right before the bytes leave, overtaken and thawed', async () => {
    const { after, attempts, accepted } = await freezeWorkerAt('attempt.sent', repository(), 'frozen')
    expect([after, accepted]).toEqual(['published', 1])
    expect(attempts).toEqual([
      ['unknown', 'absent'],
      ['accepted', null],
    ])
  })
})

test('six deliveries on two workers that find the session expired at once make one refresh', async () => {
  const second = await app.startWorker()
  const { did, connectionId } = await connectTo(proxy.url, tenant)
  const { organisationId } = tenant
  await changeCredentials(app.sql, { organisationId, connectionId, access_jwt: pds.expiredAccessToken(did) })
  const before = proxy.requests.length
  const posts = await Promise.all(Array.from({ length: 6 }, (_, at) => tenant.post(`together ${at}`, [connectionId])))
  for (const { id } of posts) expect((await tenant.settled(id)).status).toBe('published')
  const calls = proxy.requests.slice(before).map(({ path }) => path)
  expect(calls.filter((path) => path.includes('refreshSession'))).toHaveLength(1)
  expect(calls.filter((path) => path.includes('createSession'))).toHaveLength(0)
  await second.stop(20_000)
})
