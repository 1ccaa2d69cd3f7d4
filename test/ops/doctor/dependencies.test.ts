import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Connection } from '@temporalio/client'
import postgres from 'postgres'
import { createNamespace } from '../../../temporal/namespace.js'
import { SEARCH_ATTRIBUTES } from '../../../temporal/task-queues.js'
import { startApp, type App } from '../../support/app.js'
import { createTestDatabase } from '../../support/database.js'
import { examine } from '../../support/doctor.js'
import { startOwnPostgres } from '../../support/postgres.js'
import { until } from '../../support/until.js'

const CLOSED = '127.0.0.1:1'

let app: App
beforeAll(async () => {
  app = await startApp()
  const tenant = await app.tenant()
  await tenant.connect()
})
afterAll(() => app.stop())

/** In the app's environment, with something in it that is wrong. */
const withWrong = (wrong: NodeJS.ProcessEnv) => examine({ ...app.environment, ...wrong })
const count = (findings: string, level: string) => findings.match(new RegExp(`^${level} `, 'gm'))?.length ?? 0

test('where nothing is wrong it says so, of every part', async () => {
  const { code, findings, err, last } = await until('the queues know their pollers', async () => {
    const found = await examine(app.environment)
    return found.code === 0 && found
  })
  expect({ code, err, last }).toEqual({ code: 0, err: '', last: 'Nothing is wrong.' })
  for (const line of [
    /^ok time zones +IANA \d{4}\w, Node v/m,
    /^ok database +PostgreSQL \d+[^ ]*, \d+ of 200 connections$/m,
    /^ok processes +connected to this database: 1 api, 1 worker$/m,
    /^ok schema +has every migration that this release knows, and no other$/m,
    /^ok temporal +server 1\.[^ ]+ at [^ ]+, namespace default, closed runs kept \d+ days$/m,
    /^ok queue +publish-test_\w+ \(workflow tasks\): [1-9]\d* pollers$/m,
    /^ok queue +publish-test_\w+ \(activity tasks\): [1-9]\d* pollers$/m,
    /^ok queue +webhooks-test_\w+ \(activity tasks\): [1-9]\d* pollers$/m,
    /^ok queue +webhooks-retry-test_\w+ \(activity tasks\): [1-9]\d* pollers$/m,
    /^ok storage +folder [^ ]+ takes a file, gives it back and deletes it$/m,
    /^ok keys +KEY_ENCRYPTION_KEYS has the key of every sealed value \(dev-only\)$/m,
    /^ok api +http:[^ ]+ is ready$/m,
    /^ok outbox +nothing has waited for Temporal for a minute$/m,
    /^ok deliveries +none is late by five minutes$/m,
    /^ok posts +each is settled with its last delivery$/m,
    /^ok webhooks +no event is late by five minutes$/m,
    /^ok sweep +has left nothing lying$/m,
  ])
    expect(findings).toMatch(line)
})

test('without the database it says everything else, and what could not be looked at', async () => {
  const { code, findings, err } = await withWrong({ DATABASE_URL: `postgres://nobody@${CLOSED}/none` })
  expect({ code, err }).toEqual({ code: 1, err: '1 thing is wrong.' })
  expect(findings).toMatch(/^WRONG database .*ECONNREFUSED.* → Start PostgreSQL, or correct DATABASE_URL\.$/m)
  for (const part of ['schema', 'keys', 'rows'])
    expect(findings).toMatch(new RegExp(`^note ${part} +not looked at → See database, above\\.$`, 'm'))
  for (const part of ['temporal', 'queue', 'storage', 'api']) expect(findings).toMatch(new RegExp(`^ok ${part} `, 'm'))
})

test.each([
  [
    'older',
    `delete from migrations where name = (select max(name) from migrations)`,
    /^WRONG schema +The database lacks migration \d{4}_.* → Run `npm run migrate`/m,
  ],
  [
    'newer',
    `insert into migrations (name) values ('9999_future.sql')`,
    /^WRONG schema +The database is newer than this code: it has migration 9999_future.* → .*start the release that made/m,
  ],
])('a schema %s than the code is wrong, and no row is looked at', async (_what, change, line) => {
  const database = await createTestDatabase()
  try {
    await database.sql.unsafe(change)
    const { code, findings, err } = await withWrong({ DATABASE_URL: database.url })
    expect({ code, err }).toEqual({ code: 1, err: '1 thing is wrong.' })
    expect(findings).toMatch(line)
    expect(findings).toMatch(/^note rows +not looked at → See schema, above\.$/m)
    expect(findings).toMatch(/^ok processes +connected to this database: 0 api, 0 worker$/m)
  } finally {
    await database.drop()
  }
})

test('connections that are almost used up are wrong while they still can be counted, and when there is none left', async () => {
  const own = await startOwnPostgres(['max_connections=20'])
  const crowd = postgres(own.url, { max: 20 })
  const hold = (connections: number) => Promise.all(Array.from({ length: connections }, () => crowd.reserve()))
  try {
    await hold(17)
    const almost = await withWrong({ DATABASE_URL: own.url })
    expect(almost.findings).toMatch(/^WRONG slots +1[89] of 20 connections are taken → Raise max_connections/m)
    expect(almost.findings).toMatch(/^ok database /m)
    await hold(3)
    const none = await withWrong({ DATABASE_URL: own.url })
    expect(none.findings).toMatch(/^WRONG database .*too many clients.* → Raise max_connections/m)
    expect([almost.code, none.code]).toEqual([1, 1])
  } finally {
    await crowd.end({ timeout: 0 })
    await own.remove()
  }
})

test('a clock that is off the database’s is wrong', async () => {
  const shifted = fileURLToPath(new URL('../../support/shifted-clock.mjs', import.meta.url))
  const behind = await withWrong({ CLOCK_SHIFT_MS: '-600000', NODE_OPTIONS: `--import ${shifted}` })
  expect(behind.code).toBe(1)
  expect(behind.findings).toMatch(/^WRONG clock +this machine's clock is (59\d|60\d) s off the database's → .*NTP/m)
})

test('Temporal that is away is one thing, and posts are said to be accepted', async () => {
  const { code, findings, err } = await withWrong({ TEMPORAL_ADDRESS: CLOSED })
  expect({ code, err }).toEqual({ code: 1, err: '1 thing is wrong.' })
  expect(findings).toMatch(/^WRONG temporal .*ECONNREFUSED.* → Start Temporal, .*posts are accepted meanwhile/m)
  expect(findings).toMatch(/^ok outbox /m)
})

test('a namespace that is missing is named, with the command that makes it', async () => {
  const { code, findings } = await withWrong({ TEMPORAL_NAMESPACE: 'nowhere' })
  expect(code).toBe(1)
  expect(findings).toMatch(/^WRONG temporal +There is no namespace nowhere: run `npm run ops -- temporal-setup` → /m)
})

test('search attributes that the namespace lacks are wrong, as are queues that nobody polls', async () => {
  const namespace = `doctor-${randomBytes(4).toString('hex')}`
  const connection = await Connection.connect({ address: process.env.TEST_TEMPORAL_ADDRESS ?? '' })
  await createNamespace(connection, { namespace, retentionDays: 3 })
  await connection.close()
  const { code, findings, err } = await withWrong({ TEMPORAL_NAMESPACE: namespace })
  expect({ code, err }).toEqual({ code: 1, err: '5 things are wrong.' })
  expect(findings).toMatch(new RegExp(`^ok temporal .*, namespace ${namespace}, closed runs kept 3 days$`, 'm'))
  const missing = `^WRONG temporal +search attributes ${SEARCH_ATTRIBUTES.join(', ')} are missing, .* → \`npm run ops -- temporal-setup\`$`
  expect(findings).toMatch(new RegExp(missing, 'm'))
  expect(findings).toMatch(/^WRONG queue +nobody takes workflow tasks of publish-test_\w+ → Start a worker /m)
  expect(findings).toMatch(/^WRONG queue +nobody takes activity tasks of webhooks-retry-test_\w+ → Start a worker /m)
})

test('workers of another stack do not count: each of its four queues is wrong without one of its own', async () => {
  const { findings, err } = await withWrong({ TASK_QUEUE_SUFFIX: '-alone' })
  expect(err).toBe('4 things are wrong.')
  expect(count(findings, 'WRONG queue')).toBe(4)
  expect(findings).toMatch(
    /nobody takes activity tasks of publish-alone → .*same TEMPORAL_NAMESPACE and TASK_QUEUE_SUF/,
  )
})

const here = fileURLToPath(import.meta.url)
test.each([
  ['a folder that cannot be made', { MEDIA_DIR: join(here, 'media') }, /ENOTDIR/],
  [
    'an object store that is away',
    {
      S3_ENDPOINT: `http://${CLOSED}`,
      S3_BUCKET: 'media',
      S3_REGION: 'us-east-1',
      S3_ACCESS_KEY_ID: 'a',
      S3_SECRET_ACCESS_KEY: 'b',
      NODE_NO_WARNINGS: '1', // of the AWS SDK, which wants a newer Node
    },
    /ECONNREFUSED/,
  ],
])('%s is wrong, and uploads are said to answer 503', async (_what, wrong, why) => {
  const { code, findings, err } = await withWrong(wrong)
  expect({ code, err }).toEqual({ code: 1, err: '1 thing is wrong.' })
  const line = findings.split('\n').find((each) => each.startsWith('WRONG storage'))
  expect(line).toMatch(why)
  expect(line).toMatch(/ → Start the object store, or correct S3_\* or MEDIA_DIR.*503/)
})

test('sealed values whose key is not among ours are counted under its name', async () => {
  const other = `other:${randomBytes(32).toString('base64')}`
  const { code, findings, err } = await withWrong({ KEY_ENCRYPTION_KEYS: other })
  expect({ code, err }).toEqual({ code: 1, err: '1 thing is wrong.' })
  expect(findings).toMatch(/^WRONG keys +1 sealed values need the key dev-only, .* lacks → Add it, last in the list/m)
})

test('a public address where nobody answers, or somebody who is not ready, is wrong', async () => {
  const server = createServer((_request, response) => response.writeHead(503).end('{"status":"starting"}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const unready = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const [nobody, somebody] = [
      await withWrong({ PUBLIC_ORIGIN: `http://${CLOSED}` }),
      await withWrong({ PUBLIC_ORIGIN: unready }),
    ]
    expect([nobody.err, somebody.err]).toEqual(['1 thing is wrong.', '1 thing is wrong.'])
    expect(nobody.findings).toMatch(/^WRONG api .*ECONNREFUSED.* → Start an api, or correct PUBLIC_ORIGIN/m)
    expect(somebody.findings).toContain(`${unready}/readyz answers 503 {"status":"starting"} → Start an api`)
  } finally {
    server.close()
  }
})
