import { Webhook } from 'standardwebhooks'
import type { EndpointWithSecret } from '../../src/webhooks/endpoints/schema.js'
import { startApp } from '../support/app.js'
import { deliveriesOf, sendTest, untilAttempted } from '../support/hooks.js'
import { findLeaks } from '../support/leaks.js'
import { ops } from '../support/ops.js'
import { Receiver, type Received } from '../support/receiver.js'

let receiver: Receiver
beforeAll(async () => {
  receiver = await new Receiver().start()
})
afterAll(() => receiver.stop())

test('what signs is in no row, log line, history or later answer', async () => {
  const app = await startApp({ env: { EGRESS_ALLOW: receiver.host, LOG_LEVEL: 'trace' } })
  try {
    const tenant = await app.tenant()
    const url = receiver.urlOf('/canary')
    const { body } = await tenant.call<EndpointWithSecret>(
      'POST',
      '/v1/webhooks',
      { url, events: ['*'] },
      { 'idempotency-key': 'a' },
    )
    const { id, secret: first } = body.data
    const rotated = await tenant.call<EndpointWithSecret>(
      'POST',
      `/v1/webhooks/${id}/rotate`,
      { overlap_hours: 2 },
      { 'idempotency-key': 'b' },
    )
    const second = rotated.body.data.secret
    // A receiver that says what it was told.
    receiver.answer(
      '/canary',
      (response, { headers }) => void response.writeHead(500).end(JSON.stringify({ headers, first, second })),
    )
    const delivery = await sendTest(tenant, id)
    await untilAttempted(tenant, id, delivery, 2)
    const answers = [await deliveriesOf(tenant, id), (await tenant.call('GET', '/v1/webhooks')).body]
    await tenant.call('DELETE', `/v1/webhooks/${id}`)

    const secrets = [first!, second!, first!.slice(8, 40), second!.slice(8, 40)]
    expect(app.logs.join()).toContain('webhook.attempted')
    expect(await findLeaks(app, secrets)).toEqual([])
    expect(secrets.filter((secret) => JSON.stringify(answers).includes(secret))).toEqual([])
    // The search itself finds what is there, also in the lane's history.
    expect((await findLeaks(app, [id])).filter((place) => place.startsWith(`history of webhook/${id}`))).not.toEqual([])
  } finally {
    await app.stop()
  }
})

const [older, newer] = ['older', 'newer'].map(
  (id) => `${id}:${Buffer.from(id.padEnd(32, '-')).toString('base64')}`,
) as [string, string]

test('a change of the key-encryption key re-wraps both secrets of an endpoint, which go on signing', async () => {
  const app = await startApp({ env: { EGRESS_ALLOW: receiver.host, KEY_ENCRYPTION_KEYS: older } })
  try {
    const tenant = await app.tenant()
    const { id, secret: first } = await receiver.register(tenant, '/rewrapped')
    const { body } = await tenant.call<EndpointWithSecret>('POST', `/v1/webhooks/${id}/rotate`, { overlap_hours: 2 })
    const keys = { DATABASE_URL: app.database.url, KEY_ENCRYPTION_KEYS: `${newer},${older}` }
    expect((await ops(['keys', 'rotate'], keys)).out).toBe('key newer: 2 rewrapped, 0 already current, 0 unreadable')
    await app.worker?.stop()
    await app.startWorker({ KEY_ENCRYPTION_KEYS: newer })
    await sendTest(tenant, id)
    const [{ raw, headers }] = (await receiver.untilReceived('/rewrapped')) as [Received]
    for (const secret of [first, body.data.secret!])
      expect(new Webhook(secret).verify(raw.toString(), headers as Record<string, string>)).toMatchObject({
        type: 'webhook.test',
      })
  } finally {
    await app.stop()
  }
})
