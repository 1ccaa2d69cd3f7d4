import { randomBytes } from 'node:crypto'
import { connectDatabase } from '../src/db/client.js'
import { createOrganisation } from '../src/accounts/repository.js'
import {
  flagConnection,
  openCredentials,
  renewCredentials,
  saveConnection,
} from '../src/relay/connections/repository.js'
import { SEALED_COLUMNS } from '../src/ops/sealed-columns.js'
import { rotateKeys as rotate } from '../src/rotate-keys.js'
import { createTestDatabase, type TestDatabase } from './support/database.js'
import { until } from './support/until.js'

const [older, newer, stranger] = ['older', 'newer', 'stranger'].map((id) => ({ id, key: randomBytes(32) })) as [
  Key,
  Key,
  Key,
]
interface Key {
  id: string
  key: Buffer
}

let database: TestDatabase
let organisationId: string
let made = 0

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  await database.sql`delete from connections`
  organisationId = await createOrganisation(database.sql, { name: 'Test' })
})
afterAll(() => database.drop())

const sql = () => database.sql
const rotateKeys = (keys: Key[], batch = 500) => rotate(database.sql, { keys, columns: SEALED_COLUMNS, batch })

async function connection(keys: Key[], token = 'first'): Promise<string> {
  const account = { accountId: `a${++made}`, handle: 'a', displayName: null, avatarUrl: null, credentials: { token } }
  const { connection } = await saveConnection(sql(), organisationId, { platform: 'sandbox', account, keys })
  return connection.id
}
const sealedOf = async (id: string) =>
  (await sql()<{ credentials: string }[]>`select credentials from connections where id = ${id}`)[0]!.credentials
const open = async (id: string, keys: Key[]) =>
  openCredentials(await sealedOf(id), { organisationId, connectionId: id, keys })

test('every value opens with the new key alone afterwards; its ciphertext is the same, and a second run finds nothing to do', async () => {
  const ids = await Promise.all(Array.from({ length: 7 }, () => connection([older])))
  ids.push(await connection([newer, older]))
  const values = async () => Promise.all(ids.map(async (id) => (await sealedOf(id)).split('.')[3]))
  const before = await values()

  expect(await rotateKeys([newer, older], 3)).toEqual({ rewrapped: 7, alreadyCurrent: 1, unreadable: [] })
  for (const id of ids) expect(await open(id, [newer])).toEqual({ token: 'first' })
  expect(await values()).toEqual(before)
  expect(await rotateKeys([newer, older], 3)).toEqual({ rewrapped: 0, alreadyCurrent: 8, unreadable: [] })
})

test('what no key opens is named and left as it is, and the others are done', async () => {
  const [lost, fine] = [await connection([stranger]), await connection([older])]
  const before = await sealedOf(lost)
  expect(await rotateKeys([newer, older], 1)).toEqual({ rewrapped: 1, alreadyCurrent: 0, unreadable: [lost] })
  expect([await sealedOf(lost), await open(fine, [newer])]).toEqual([before, { token: 'first' }])
})

test('a renewal under way while the keys are rotated is neither lost nor undone', async () => {
  const ids = await Promise.all(Array.from({ length: 3 }, () => connection([older])))
  const [renewed = ''] = ids
  const renewals = connectDatabase({ url: database.url, name: 'renewals', max: 1 })
  let answer: (value: { token: string }) => void = () => undefined
  const called = new Promise<{ token: string }>((resolve) => (answer = resolve))
  let asked = false
  const renewing = renewCredentials(
    renewals,
    { connectionId: renewed, used: await sealedOf(renewed), keys: [older] },
    () => {
      asked = true
      return called
    },
  )
  await until('the platform is asked', () => asked)
  const rotating = rotateKeys([newer, older])
  await until('the others are done', async () => (await sealedOf(ids[2]!)).startsWith('v1.newer.'))
  answer({ token: 'second' })
  await renewing
  // That worker did not have the new key yet; the rotation waited for it and wrapped what it wrote.
  expect(await rotating).toMatchObject({ rewrapped: 3, unreadable: [] })
  expect(await open(renewed, [newer])).toEqual({ token: 'second' })
  await renewals.end()
})

test('credentials read before a rotation are still known as the same after it: they are renewed, once, and flagged', async () => {
  const id = await connection([older])
  const used = await sealedOf(id)
  await rotateKeys([newer, older])
  expect(await sealedOf(id)).not.toBe(used)

  let asked = 0
  const renew = async () => ({ token: `renewed ${++asked}` })
  const keys = [newer, older]
  await renewCredentials(sql(), { connectionId: id, used, keys }, renew)
  await renewCredentials(sql(), { connectionId: id, used, keys }, renew) // renewed already: nobody is asked
  expect([asked, await open(id, [newer])]).toEqual([1, { token: 'renewed 1' }])

  const flag = (sealed: string) =>
    flagConnection(sql(), id, { status: 'revoked', code: 'auth_revoked', message: 'x', used: sealed })
  const statusNow = async () =>
    (await sql()<{ status: string }[]>`select status from connections where id = ${id}`)[0]?.status
  const [otherKeys] = [await sealedOf(id)]
  await flag(used)
  expect(await statusNow()).toBe('active') // those were other credentials
  await rotateKeys([stranger, newer])
  await flag(otherKeys)
  expect(await statusNow()).toBe('revoked')
})
