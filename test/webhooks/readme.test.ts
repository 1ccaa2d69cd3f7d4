import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild } from '../../tools/stack/child.js'
import { freePort } from '../../tools/stack/ports.js'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { relaySignature } from '../../src/webhooks/signature.js'
import type { EndpointWithSecret } from '../../src/webhooks/endpoints/schema.js'
import { startApp } from '../support/app.js'
import { deliveriesOf, sendTest } from '../support/hooks.js'
import { readExample } from '../support/readme.js'
import { until } from '../support/until.js'

test('the receiver of the README takes what we send once, and refuses what is forged, stale or of the future', async () => {
  const [folder, port] = await Promise.all([mkdtemp(join(tmpdir(), 'relay-readme-')), freePort()])
  const app = await startApp({ env: { EGRESS_ALLOW: `127.0.0.1:${port}` } })
  const lines: string[] = []
  try {
    const tenant = await app.tenant()
    const url = `http://127.0.0.1:${port}/hooks`
    const { body } = await tenant.call<EndpointWithSecret>('POST', '/v1/webhooks', { url, events: ['*'] })
    const { id, secret } = body.data
    const script = join(folder, 'receiver.mts')
    await writeFile(script, await readExample('Webhooks', 'ts'))
    const child = await startChild({
      name: 'receiver',
      command: process.execPath,
      args: ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href, script],
      env: { ...process.env, RELAY_WEBHOOK_SECRET: secret!, PORT: String(port) },
      onLine: (line) => void lines.push(line),
    })
    const send = async (payload: string, signature: string) =>
      (
        await fetch(url, {
          method: 'POST',
          body: payload,
          headers: { 'x-relay-signature': signature, 'x-relay-delivery': 'forged' },
        })
      ).status
    await until('it listens', () => send('{}', '').catch(() => null))

    const delivery = await sendTest(tenant, id)
    await until('it took the event', async () => (await deliveriesOf(tenant, id))[0]?.status === 'succeeded')
    await tenant.call('POST', `/v1/webhooks/${id}/deliveries/${delivery}/replay`)
    await until(
      'it took it again',
      async () => (await deliveriesOf(tenant, id))[0]?.attempts.filter((each) => each.http_status === 204).length === 2,
    )
    await until('it says so', () => lines.some((line) => line.includes('webhook.test')))
    expect(lines.filter((line) => line.includes('webhook.test'))).toHaveLength(1)

    const payload = '{"id":"evt_1","type":"post.failed","data":{}}'
    const sign = (by: string, seconds: number) =>
      relaySignature(Buffer.from(payload), { secrets: [by], at: new Date(Date.now() + seconds * 1000) })
    expect(await send(payload, sign(secret!, 0))).toBe(204)
    expect(await send(payload, `${sign(`${secret}x`, 0)},${sign(secret!, 0).split(',')[1]}`)).toBe(204) // two secrets
    for (const signature of [sign('whsec_other', 0), sign(secret!, -310), sign(secret!, 310), 't=1,v1=00', 'nonsense'])
      expect(await send(payload, signature)).toBe(400)
    expect(await send(`${payload} `, sign(secret!, 0))).toBe(400)
    await child.stop()
  } finally {
    await app.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
