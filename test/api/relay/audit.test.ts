import { z } from 'zod'
import { route } from '../../../api/http/route.js'
import { relayRoutes } from '../../../api/relay/index.js'
import { createKey } from '../../../src/accounts/repository.js'
import { DEV_ONLY_PEPPER } from '../../../src/config.js'
import type { AuditEntry } from '../../../src/audit/schema.js'
import { verifyAudit } from '../../../src/audit/verify.js'
import { startApp, type App, type Tenant } from '../../support/app.js'
import { Receiver } from '../../support/receiver.js'
import { until } from '../../support/until.js'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let app: App
let receiver: Receiver
let tenant: Tenant

beforeAll(async () => {
  receiver = await new Receiver().start()
  app = await startApp({ env: { TRUST_PROXY: 'loopback', EGRESS_ALLOW: receiver.host } })
})
beforeEach(async () => {
  tenant = await app.tenant()
})
afterAll(() => {
  receiver.stop()
  return app.stop()
})

const entries = async (query = '') => (await tenant.call<AuditEntry[]>('GET', `/v1/org/audit${query}`)).body.data
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

test('every action of the API is written down once, with whom, what and which request', async () => {
  const done: [string, string][] = []
  const act = async (action: string, method: string, path: string, body?: unknown): Promise<string> => {
    const answer = await tenant.call<{ id: string }>(method, path, body)
    expect(answer.body.error).toBeUndefined()
    const target = /\/(\w+_[0-9a-f]{32})/.exec(path)?.[1] ?? answer.body.data.id
    done.push([action, target])
    const [entry] = await entries('?limit=1')
    expect(entry).toMatchObject({ action, request_id: answer.headers.get('x-request-id') })
    return answer.body.data.id
  }
  const create = (text: string, connection: string, more = {}) =>
    act('post.created', 'POST', '/v1/posts', { content: { text }, connection_ids: [connection], ...more })

  const connection = await act('connection.created', 'POST', '/v1/connections', { platform: 'sandbox', fields: {} })
  await act('connection.verified', 'POST', `/v1/connections/${connection}/verify`)
  await act('connection.updated', 'PATCH', `/v1/connections/${connection}`, { metadata: { a: 1 } })
  const post = await create('audited', connection, { draft: true })
  await act('post.scheduled', 'POST', `/v1/posts/${post}/schedule`, { scheduled_at: inAnHour() })
  await act('post.published', 'POST', `/v1/posts/${post}/publish`)
  await act('post.retried', 'POST', `/v1/posts/${post}/retry`)
  const failed = await tenant.settled(await create('[sandbox:quota_exceeded]', connection))
  await act('delivery.retried', 'POST', `/v1/deliveries/${failed.deliveries[0]!.id}/retry`)
  await act('post.cancelled', 'DELETE', `/v1/posts/${await create('cancelled', connection, { draft: true })}`)
  const form = new FormData()
  form.set('file', new File([Buffer.from(PIXEL, 'base64')], 'pixel.png'))
  await act('media.deleted', 'DELETE', `/v1/media/id/${await act('media.created', 'POST', '/v1/media', form)}`)
  await act('connection.deleted', 'DELETE', `/v1/connections/${connection}`)

  const { id: other } = await createKey(app.sql, tenant.organisationId, {
    name: 'other',
    scopes: [],
    pepper: DEV_ONLY_PEPPER,
  })
  await act('key.revoked', 'DELETE', `/v1/keys/${other}`)
  const hook = await act('webhook.created', 'POST', '/v1/webhooks', { url: receiver.urlOf('/audited'), events: ['*'] })
  await act('webhook.updated', 'PATCH', `/v1/webhooks/${hook}`, { events: ['post.failed'] })
  await act('webhook.rotated', 'POST', `/v1/webhooks/${hook}/rotate`)
  await act('webhook.tested', 'POST', `/v1/webhooks/${hook}/test`)
  const told = await tenant.call<{ id: string }[]>('GET', `/v1/webhooks/${hook}/deliveries`)
  await act('webhook.replayed', 'POST', `/v1/webhooks/${hook}/deliveries/${told.body.data[0]!.id}/replay`)
  await act('webhook.recovered', 'POST', `/v1/webhooks/${hook}/recover`, { since: inAnHour() })
  await act('webhook.deleted', 'DELETE', `/v1/webhooks/${hook}`)

  const written = (await entries('?limit=100')).toReversed()
  expect(written.map(({ action, target }) => [action, target.id])).toEqual(done)
  const actor = { kind: 'key', id: tenant.keyId, name: 'test' }
  for (const entry of written)
    expect(entry).toMatchObject({ actor, ip: '127.0.0.1', target: { kind: entry.action.split('.')[0] } })

  // Whoever adds a route that changes something shows here that it is written down.
  const audited = relayRoutes.flatMap(({ audit }) => audit ?? [])
  expect(new Set(done.map(([action]) => action))).toEqual(new Set(audited))
})

test('a route that changes something and does not say how it is written down does not compile', () => {
  const parts = { path: '/x', summary: '', scope: null, responds: { status: 200, data: z.null() } } as const
  const handle = async () => null
  route({ method: 'get', ...parts, handle })
  // @ts-expect-error -- `audit` is missing
  route({ method: 'post', ...parts, handle })
  expect(relayRoutes.filter(({ method, audit }) => method !== 'get' && audit === undefined)).toEqual([])
})

test('what is replayed, refused or only read is not written down', async () => {
  const connection = await tenant.connect()
  const body = { content: { text: 'once' }, connection_ids: [connection], draft: true }
  const headers = { 'idempotency-key': 'k' }
  await tenant.call('POST', '/v1/posts', body, headers)
  const replay = await tenant.call('POST', '/v1/posts', body, headers)
  expect(replay.headers.get('idempotent-replayed')).toBe('true')
  await tenant.call('POST', '/v1/posts', { ...body, when: 'now' })
  await tenant.call('POST', `/v1/posts/post_${'0'.repeat(32)}/publish`)
  await tenant.call('GET', '/v1/posts')
  expect((await entries()).map(({ action }) => action)).toEqual(['post.created', 'connection.created'])
})

test('a trusted proxy names the caller’s address; without one, what a caller claims counts for nothing', async () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.7' }
  await tenant.call('POST', '/v1/connections', { platform: 'sandbox', fields: {} }, forwarded)
  expect((await entries())[0]?.ip).toBe('203.0.113.7')
  const plain = await startApp({ worker: false })
  try {
    const stranger = await plain.tenant()
    await stranger.call('POST', '/v1/connections', { platform: 'sandbox', fields: {} }, forwarded)
    expect((await stranger.call<AuditEntry[]>('GET', '/v1/org/audit')).body.data[0]?.ip).toBe('127.0.0.1')
  } finally {
    await plain.stop()
  }
})

test('the list is filtered and paged, and shows nothing of another organisation', async () => {
  const connection = await tenant.connect()
  for (let at = 0; at < 4; at++) await tenant.post(`draft ${at}`, [connection], { draft: true })
  const all = await entries()
  expect(all).toHaveLength(5)
  expect(await entries('?action=connection.created')).toEqual(all.slice(-1))
  expect(await entries(`?actor=${tenant.keyId}&limit=100`)).toEqual(all)
  expect(await entries('?actor=key_other')).toEqual([])
  expect(await entries(`?from=${all[1]!.at}`)).toEqual(all.filter(({ at }) => at >= all[1]!.at))
  expect(await entries(`?to=${all[4]!.at}`)).toEqual([])
  const first = await tenant.call<AuditEntry[]>('GET', '/v1/org/audit?limit=3')
  const { next_cursor } = first.body.meta as { next_cursor: string }
  expect([...first.body.data, ...(await entries(`?limit=3&cursor=${next_cursor}`))]).toEqual(all)
  const stranger = await app.tenant()
  expect((await stranger.call<AuditEntry[]>('GET', '/v1/org/audit')).body.data).toEqual([])
  expect((await tenant.call('GET', '/v1/org/audit?action=nothing')).status).toBe(422)
})

test('the sweep chains what was written, and it holds', async () => {
  await tenant.connect()
  await until('all is chained', async () => (await verifyAudit(app.sql)).unchained === 0)
  const { rows, broken } = await verifyAudit(app.sql)
  expect([rows > 0, broken]).toEqual([true, []])
})
