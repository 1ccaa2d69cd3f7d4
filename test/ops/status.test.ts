import { learnLimit } from '../../src/relay/connections/limits.js'
import { startApp } from '../support/app.js'
import { ops } from '../support/ops.js'
import { until } from '../support/until.js'

test('status tells what is paused, what waits in the outbox and what is not settled', async () => {
  const app = await startApp()
  try {
    const env = { DATABASE_URL: app.database.url, SANDBOX_URL: app.url }
    const status = async () => (await ops(['status'], env)).out
    expect(await status()).toBe('paused    none\noutbox    0 lines\nlimits    0 in force\nunsettled none')

    await ops(['pause', 'sandbox', '--reason', 'look'], env)
    const tenant = await app.tenant()
    const connection = await tenant.connect()
    const { id } = await tenant.post('held', [connection])
    await tenant.post('a draft', [connection], { draft: true })
    await until('it is held', async () => (await tenant.read(id)).deliveries[0]!.waiting_for)
    await app.sql`
      insert into outbox (command, workflow_id, args, created_at, next_try_at)
      values ('start_delivery', 'x', '{}', now() - interval '90 seconds', now() + interval '1 hour')`
    await learnLimit(app.sql, connection, 60_000)
    const shown = await status()
    expect(shown).toMatch(/^paused {4}sandbox since \d{4}-[^ ]+: look$/m)
    expect(shown).toMatch(/^outbox {4}1 lines, the oldest 9\d s old$/m)
    expect(shown).toMatch(/^limits {4}1 in force$/m)
    expect(shown).toMatch(/^unsettled sandbox pending \(publishing_paused\): 1$/m)
  } finally {
    await app.stop()
  }
})
