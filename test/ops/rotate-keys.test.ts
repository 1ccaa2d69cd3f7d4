import { SEALED_COLUMNS } from '../../src/ops/sealed-columns.js'
import { rotateKeys } from '../../src/rotate-keys.js'
import { startApp, type App } from '../support/app.js'
import { ops } from '../support/ops.js'

const [older, newer] = ['older', 'newer'].map((id) => ({ id, key: Buffer.from(id.padEnd(32, '-')) })) as [Key, Key]
interface Key {
  id: string
  key: Buffer
}

const list = (...keys: Key[]) => keys.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(',')

async function restart(app: App, keys: string): Promise<void> {
  await Promise.all([app.api?.stop(), app.worker?.stop()])
  await Promise.all([app.startApi({ KEY_ENCRYPTION_KEYS: keys }), app.startWorker({ KEY_ENCRYPTION_KEYS: keys })])
}

/** Rotates to and fro, far more often than any operator, until `done`; answers how many values were rewrapped. */
async function rotateUntil(app: App, done: Promise<unknown>): Promise<number> {
  let [rewrapped, ended] = [0, false]
  void done.finally(() => (ended = true))
  for (let round = 0; !ended; round++)
    rewrapped += (
      await rotateKeys(app.sql, { keys: round % 2 ? [older, newer] : [newer, older], columns: SEALED_COLUMNS })
    ).rewrapped
  return rewrapped
}

test('keys are rotated while posts go out and tokens are renewed: nothing fails, and the old key is not needed any more', async () => {
  const app = await startApp({ env: { KEY_ENCRYPTION_KEYS: list(older) } })
  try {
    const tenant = await app.tenant()
    const names = Array.from({ length: 12 }, (_, at) => `account ${at}`)
    const connections = await Promise.all(names.map((name) => tenant.connect(name)))
    await restart(app, list(newer, older))

    // One that expires per account: two would end the delivery that meets both.
    const text = (at: number) => (at < names.length ? `renewed ${at} [sandbox:auth_expired*1]` : `plain ${at}`)
    const publish = async (at: number) =>
      tenant.settled((await tenant.post(text(at), [connections[at % connections.length]!])).id)
    const publishing = Promise.all(Array.from({ length: 48 }, (_, at) => publish(at)))
    expect(await rotateUntil(app, publishing)).toBeGreaterThan(100)
    expect((await publishing).filter(({ status }) => status !== 'published')).toEqual([])
    expect(await app.sql`select 1 from connections where status <> 'active'`).toHaveLength(0)

    const env = { DATABASE_URL: app.database.url }
    const rotate = (keys: string) => ops(['keys', 'rotate'], { ...env, KEY_ENCRYPTION_KEYS: keys })
    expect(await rotate(list(newer, older))).toMatchObject({ code: 0, out: expect.stringMatching(/, 0 unreadable$/) })
    expect(await app.sql`select 1 from connections where credentials not like 'v1.newer.%'`).toHaveLength(0)

    await restart(app, list(newer))
    const after = await Promise.all(connections.map((id, at) => tenant.post(`after ${at}`, [id])))
    for (const { id } of after) expect((await tenant.settled(id)).status).toBe('published')
    expect((await rotate(list(newer))).out).toBe('key newer: 0 rewrapped, 12 already current, 0 unreadable')

    const lacking = await rotate(list(older))
    expect([lacking.code, lacking.out]).toEqual([1, 'key older: 0 rewrapped, 0 already current, 12 unreadable'])
    expect(lacking.err).toContain(connections[0])
  } finally {
    await app.stop()
  }
})
