import { startApp } from '../support/app.js'
import { readCredentials } from '../support/credentials.js'
import { findLeaks } from '../support/leaks.js'

test('what a connection and a key hold is in no row, log line, history or answer', async () => {
  const app = await startApp({ env: { LOG_LEVEL: 'trace' } })
  try {
    const tenant = await app.tenant()
    const answers: string[] = []
    const connected = await tenant.call<{ id: string }>('POST', '/v1/connections', {
      platform: 'sandbox',
      fields: { name: 'canary' },
    })
    const connectionId = connected.body.data.id
    const { token: first = '' } = await readCredentials(app.sql, tenant.organisationId, connectionId)
    const texts = ['plain', '[sandbox:auth_expired*1]', '[sandbox:content_rejected]', '[sandbox:drop]']
    for (const text of texts) {
      const post = await tenant.settled((await tenant.post(text, [connectionId])).id)
      answers.push(JSON.stringify(post), JSON.stringify(await tenant.attempts(post.deliveries[0]!)))
    }
    answers.push(
      JSON.stringify((await tenant.call('POST', `/v1/connections/${connectionId}/verify`)).body),
      JSON.stringify(connected.body),
    )
    const { token: second = '' } = await readCredentials(app.sql, tenant.organisationId, connectionId)
    expect(first.length).toBeGreaterThan(16)
    expect(second).not.toBe(first) // it was renewed on the way
    expect(app.logs.join()).toContain('delivery.attempted')

    const secrets = [first, second, tenant.key, tenant.key.slice(21, 64)]
    expect(await findLeaks(app, secrets)).toEqual([])
    expect(answers.filter((answer) => secrets.some((secret) => answer.includes(secret)))).toEqual([])
    // The search itself finds what is there.
    expect(await findLeaks(app, ['plain'])).not.toEqual([])
  } finally {
    await app.stop()
  }
})
