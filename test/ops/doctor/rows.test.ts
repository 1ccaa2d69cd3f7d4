import { newId } from '../../../src/ids.js'
import { findIdleTransactions, findLateDeliveries } from '../../../src/ops/doctor/repository.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { examine } from '../../support/doctor.js'
import { sendTest, untilAttempted } from '../../support/hooks.js'
import { ops } from '../../support/ops.js'
import { Receiver } from '../../support/receiver.js'
import { connectTemporal } from '../../support/temporal.js'
import { until } from '../../support/until.js'

/** Nothing is put right behind a test's back. */
const NO_SWEEP = { SWEEP_EVERY_MS: '3600000', SWEEP_OVERDUE_MS: '3600000' }

describe('what wants somebody', () => {
  let receiver: Receiver
  let app: App
  beforeAll(async () => {
    receiver = await new Receiver().start()
    app = await startApp({ env: { ...NO_SWEEP, EGRESS_ALLOW: receiver.host } })
  })
  afterAll(async () => {
    receiver.stop()
    await app.stop()
  })

  test('is a note with who does what, and nothing is wrong', async () => {
    const tenant = await app.tenant()
    const publish = async (text: string) =>
      (await tenant.settled((await tenant.post(text, [await tenant.connect(text)])).id)).deliveries[0]
    expect(await publish('who knows [sandbox:drop-blind]')).toMatchObject({ error_code: 'publish_indeterminate' })
    expect(await publish('expired [sandbox:auth_expired]')).toMatchObject({ status: 'failed' })
    const { id: endpoint } = await receiver.register(tenant, '/off')
    receiver.answer('/off', 500)
    await untilAttempted(tenant, endpoint, await sendTest(tenant, endpoint))
    await tenant.call('PATCH', `/v1/webhooks/${endpoint}`, { enabled: false })
    await ops(['pause', 'bluesky', '--reason', 'look'], app.environment)

    const { findings } = await until('every queue knows its pollers', async () => {
      const found = await examine(app.environment)
      return found.code === 0 && found
    })
    for (const line of [
      /^note paused +bluesky since \d{4}-[^ ]+: look → `npm run ops -- resume bluesky` lets go what waits\.$/m,
      /^note unknown +1 deliveries of the last seven days may have landed or not .* → .* retry with confirm_not_pub/m,
      /^note connections +1 to sandbox are reauth_required → Their owners connect them again\.$/m,
      /^note webhooks +1 events are held for endpoints that are switched off → .*switch the endpoint on and recover\.$/m,
      /^Nothing is wrong\.$/m,
    ])
      expect(findings).toMatch(line)
  })
})

describe('what is stuck', () => {
  let receiver: Receiver
  let app: App
  let tenant: Tenant
  let found: Awaited<ReturnType<typeof examine>>
  let ids: { post: string; endpoint: string }
  beforeAll(async () => {
    receiver = await new Receiver().start()
    app = await startApp({ env: { ...NO_SWEEP, EGRESS_ALLOW: receiver.host } })
    tenant = await app.tenant()
    const { id: post } = await tenant.post('settled', [await tenant.connect()])
    await tenant.settled(post)
    const { id: endpoint } = await receiver.register(tenant, '/late')
    await untilAttempted(tenant, endpoint, await sendTest(tenant, endpoint))
    ids = { post, endpoint }
    const { sql } = app
    await sql`update posts set settled_at = null, status = 'publishing' where id = ${post}`
    await sql`
      update webhook_deliveries set status = 'pending', settled_at = null, due_at = now() - interval '10 minutes'
       where endpoint_id = ${endpoint}`
    await sql`insert into loose_blobs values ('org/a', now() - interval '2 hours'), ('org/b', now() - interval '50 minutes')`
    await sql`
      insert into audit_log (id, at, actor, action, target)
      values (${newId('aud')}, now() - interval '11 minutes', '{}', 'a.b', '{}'), (${newId('aud')}, now(), '{}', 'a.b', '{}')`
    await sql`
      insert into outbox (command, workflow_id, args, created_at, next_try_at) values
        ('start_delivery', 'x', '{}', now() - interval '90 seconds', now() + interval '1 hour'),
        ('start_delivery', 'y', '{}', now() - interval '10 seconds', now() + interval '1 hour')`
    found = await examine(app.environment)
  })
  afterAll(async () => {
    receiver.stop()
    await app.stop()
  })

  test.each<[string, () => RegExp]>([
    [
      'a line of the outbox that nobody has taken',
      () => /^WRONG outbox +1 lines .*nobody .* \d{2,3} s old → Start an api or/m,
    ],
    [
      'a post that is not settled although its deliveries are',
      () => new RegExp(`^WRONG posts +all deliveries are settled but not the post: ${ids.post} → .*report it\\.$`, 'm'),
    ],
    [
      'an endpoint whose events are late',
      () =>
        new RegExp(
          `^WRONG webhooks +1 events for ${ids.endpoint} wait, .* 6\\d\\d s over .* run webhook/${ids.endpoint} `,
          'm',
        ),
    ],
    [
      'a file that the sweep should have taken',
      () => /^WRONG files +1 files .* an hour over their time → Mend the storage/m,
    ],
    [
      'a row of the audit log that is not chained',
      () => /^WRONG audit +1 rows .* ten minutes to be chained → Start an api/m,
    ],
  ])('%s is wrong, and what is only a moment late is not counted', (_what, line) => {
    expect(found.code).toBe(1)
    expect(found.findings).toMatch(line())
    expect(found.findings).not.toMatch(/^ok (outbox|posts|webhooks|sweep)/m)
  })

  test('lines that were taken and that Temporal did not take are wrong, with what it said', async () => {
    await app.sql`update outbox set tries = 2, last_error = 'UNAVAILABLE: no route'`
    expect((await examine(app.environment)).findings).toMatch(
      /^WRONG outbox +1 lines that Temporal did not take, the oldest \d{2,3} s old: UNAVAILABLE: no route → Mend Temporal/m,
    )
  })
})

test('a delivery that is late is wrong, with its run, its wait and the attempt that is open', async () => {
  const [app, temporal] = await Promise.all([startApp({ env: NO_SWEEP }), connectTemporal()])
  try {
    const tenant = await app.tenant()
    const scheduled_at = new Date(Date.now() + 3_600_000).toISOString()
    const { deliveries } = await tenant.post('late', [await tenant.connect()], { scheduled_at })
    const id = deliveries[0]!.id
    const handle = temporal.client.workflow.getHandle(`delivery/${id}/1`)
    await until('its run was started', () => handle.describe().catch(() => null))
    await app.sql`update deliveries set due_at = now() - interval '290 seconds' where id = ${id}`
    expect(await findLateDeliveries(app.sql)).toEqual([])

    await app.sql`
      update deliveries set due_at = now() - interval '10 minutes', waiting_for = '{"code":"rate_limited"}' where id = ${id}`
    const late = `^WRONG delivery +${id} to sandbox is pending and late by 6\\d\\d s, waits for rate_limited; its run `
    const next = ` → .*delivery/${id}/1 in the Temporal UI; \`npm run ops -- rearm ${id}\` gives it a new one\\.$`
    const open = await examine(app.environment)
    expect(open.code).toBe(1)
    expect(open.findings).toMatch(new RegExp(`${late}is open${next}`, 'm'))

    const away = await examine({ ...app.environment, TEMPORAL_ADDRESS: '127.0.0.1:1' })
    expect(away.findings).toMatch(new RegExp(`${late}cannot be asked for${next}`, 'm'))
    expect(away.err).toBe('2 things are wrong.')

    await handle.terminate('by the test')
    await app.sql`update deliveries set status = 'processing', waiting_for = null where id = ${id}`
    await app.sql`insert into attempts (delivery_id, number, generation, state) values (${id}, 3, 1, 'sent')`
    expect((await examine(app.environment)).findings).toMatch(
      /is processing and late by 6\d\d s, its attempt 3 is not closed; its run has ended or was never started → /m,
    )
  } finally {
    await Promise.all([app.stop(), temporal.close()])
  }
})

test('a transaction that was left open is found with its process, until it ends', async () => {
  const app = await startApp({ api: false, worker: false })
  try {
    const connection = await app.sql.reserve()
    await connection`begin`
    const [row] = await connection<{ pid: number }[]>`select pg_backend_pid() as pid`
    const idle = await until('it is idle', async () => (await findIdleTransactions(app.sql, 0))[0])
    expect(idle).toEqual({ pid: row?.pid, name: 'test', minutes: 0 })
    expect(await findIdleTransactions(app.sql, 60_000)).toEqual([])
    await connection`rollback`
    connection.release()
    expect(await findIdleTransactions(app.sql, 0)).toEqual([])
  } finally {
    await app.stop()
  }
})
