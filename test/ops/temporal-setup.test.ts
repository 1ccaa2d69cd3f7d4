import { randomBytes } from 'node:crypto'
import { Connection } from '@temporalio/client'
import { readRetention } from '../../temporal/namespace.js'
import { SEARCH_ATTRIBUTES } from '../../temporal/task-queues.js'
import { startApp } from '../support/app.js'
import { ops } from '../support/ops.js'
import { until } from '../support/until.js'

const newNamespace = () => `setup-${randomBytes(4).toString('hex')}`
const setup = (namespace: string, ...flags: string[]) =>
  ops(['temporal-setup', ...flags], {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', // it needs no database
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
    TEMPORAL_NAMESPACE: namespace,
  })

let connection: Connection
beforeAll(async () => {
  connection = await Connection.connect({ address: process.env.TEST_TEMPORAL_ADDRESS ?? '' })
})
afterAll(() => connection.close())

test('makes the namespace with its attributes, changes nothing the second time, and deliveries run there', async () => {
  const namespace = newNamespace()
  expect(await setup(namespace)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/ made; closed runs are kept 7 days\n.*added: OrganisationId, PostId, Platform/),
  })
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
  expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining([...SEARCH_ATTRIBUTES]))
  expect((await setup(namespace)).out).toMatch(/ is there; closed runs are kept 7 days\n.*added: none$/)

  const app = await startApp({ env: { TEMPORAL_NAMESPACE: namespace } })
  try {
    const tenant = await app.tenant()
    const { id } = await tenant.post('elsewhere', [await tenant.connect()])
    expect((await tenant.settled(id)).status).toBe('published')
    const { count } = await until('the run can be found by its post', async () => {
      const answer = await connection.workflowService.countWorkflowExecutions({ namespace, query: `PostId = "${id}"` })
      return Number(answer.count) > 0 && answer
    })
    expect(Number(count)).toBe(1)
  } finally {
    await app.stop()
  }
})

test('a retention that is named is set, one that is not is left', async () => {
  const namespace = newNamespace()
  await setup(namespace, '--retention', '3')
  expect(await readRetention(connection, namespace)).toBe(3)
  await setup(namespace, '--retention', '14')
  await setup(namespace)
  expect(await readRetention(connection, namespace)).toBe(14)
})

test('a worker that is there before its namespace waits for it, and then polls', async () => {
  const namespace = newNamespace()
  const app = await startApp({ worker: false, env: { TEMPORAL_NAMESPACE: namespace, LOG_LEVEL: 'info' } })
  try {
    const worker = app.startWorker()
    worker.catch(() => 'told below')
    await until('it says that it waits', () => app.logs.some((line) => /"part":"temporal".*start.waiting/.test(line)))
    expect(await setup(namespace)).toMatchObject({ code: 0, err: '' })
    await worker
    const tenant = await app.tenant()
    const { id } = await tenant.post('early bird', [await tenant.connect()])
    expect((await tenant.settled(id)).status).toBe('published')
  } finally {
    await app.stop()
  }
})

test('for Temporal Cloud it prints the commands of tcld, and asks no server', async () => {
  const { code, out } = await ops(['temporal-setup', '--cloud', '--retention', '30'], {
    DATABASE_URL: 'postgres://x/y',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    TEMPORAL_NAMESPACE: 'relay.a1b2c',
  })
  const attributes = SEARCH_ATTRIBUTES.map((name) => `--search-attribute ${name}=Keyword`).join(' ')
  expect(code).toBe(0)
  expect(out.split('\n').filter((line) => !line.startsWith('#'))).toEqual([
    `tcld namespace create --namespace relay --region REGION --retention-days 30 ${attributes}`,
    `tcld namespace search-attributes add --namespace relay.a1b2c ${attributes}`,
    'tcld namespace retention set --namespace relay.a1b2c --retention-days 30',
  ])
})

test('a server that is away is one sentence with the next step', async () => {
  const { code, err } = await ops(['temporal-setup'], {
    DATABASE_URL: 'postgres://x/y',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
  })
  expect(code).toBe(1)
  expect(err).toMatch(/^Temporal at 127\.0\.0\.1:1 did not do it \(.*ECONNREFUSED.*\)\. On Temporal Cloud, .*--cloud/)
})

test.each(['0', '-1', 'week', '1.5'])('a retention of %s is no number of days', async (days) => {
  expect(await setup('never', `--retention=${days}`)).toMatchObject({
    code: 1,
    err: expect.stringContaining('--retention takes a number of days'),
  })
})
