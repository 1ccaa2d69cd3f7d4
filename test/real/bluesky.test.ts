import { RichText } from '@atproto/api'
import sharp from 'sharp'
import { startApp, type App, type Tenant } from '../support/app.js'
import { changeCredentials, readCredentials } from '../support/credentials.js'
import { anImage } from '../support/files.js'
import { findLeaks } from '../support/leaks.js'
import { until } from '../support/until.js'
import { startPds, type Pds, type PdsAccount } from './pds.js'

let pds: Pds
let app: App
let tenant: Tenant
let handles = 0

beforeAll(async () => {
  pds = await startPds()
  app = await startApp({ env: { EGRESS_ALLOW: new URL(pds.url).host, LOG_LEVEL: 'trace' } })
  tenant = await app.tenant()
})
afterAll(async () => {
  await app.stop()
  await pds.stop()
})

async function anAccount(): Promise<PdsAccount & { connectionId: string }> {
  const account = await pds.createAccount(`person${++handles}.test`)
  const { body } = await connect(account.handle, account.appPassword)
  return { ...account, connectionId: body.data.id }
}

const connect = (identifier: string, app_password: string) =>
  tenant.call<{ id: string; handle: string; status: string }>('POST', '/v1/connections', {
    platform: 'bluesky',
    fields: { service: pds.url, identifier, app_password },
  })

async function publish(connectionId: string, text: string, more: Record<string, unknown> = {}) {
  const post = await tenant.settled((await tenant.post(text, [connectionId], more)).id)
  return { post, delivery: post.deliveries[0]! }
}

const statusOf = async (id: string) =>
  (await app.sql<{ status: string }[]>`select status from connections where id = ${id}`)[0]?.status

test('a wrong app password, and a name nobody has, blame the app password', async () => {
  const { handle } = await pds.createAccount(`person${++handles}.test`)
  for (const identifier of [handle, 'nobody.test']) {
    const { status, body } = await connect(identifier, 'wrong-pass-word-here')
    expect([status, body.error.details['fields']]).toEqual([
      422,
      [{ path: 'fields.app_password', message: expect.any(String) }],
    ])
  }
})

test('a text lands with its links, tags and mentions at the right bytes', async () => {
  const [{ did, connectionId }, mentioned] = [await anAccount(), await anAccount()]
  const text = `Größe 👩‍👩‍👧: https://example.com/ä?b=c #straße and @${mentioned.handle}, not @nobody.test`
  const { delivery } = await publish(connectionId, text)
  expect(delivery).toMatchObject({ status: 'succeeded', remote_id: expect.stringContaining(did) })

  const [post, ...others] = await pds.listPosts(did)
  expect(others).toEqual([])
  expect(delivery.remote_url).toBe(`https://bsky.app/profile/${did}/post/${post!.rkey}`)
  expect(post!.record).toMatchObject({ $type: 'app.bsky.feed.post', text })
  const { facets } = post!.record as {
    facets: { index: { byteStart: number; byteEnd: number }; features: { did?: string }[] }[]
  }
  const bytes = Buffer.from(text)
  expect(facets.map(({ index }) => bytes.subarray(index.byteStart, index.byteEnd).toString())).toEqual([
    'https://example.com/ä?b=c',
    '#straße',
    `@${mentioned.handle}`,
  ])
  expect(facets[2]?.features[0]?.did).toBe(mentioned.did)
})

test('a thread hangs together: parts under parts, the comment under the post, languages, link and tags in the text', async () => {
  const { did, connectionId } = await anAccount()
  const { body } = await tenant.call<{ id: string }>('POST', '/v1/posts', {
    content: {
      text: 'one',
      link: 'https://example.com/one',
      tags: ['first'],
      parts: [{ text: 'two' }, { text: 'three' }],
      first_comment: { text: 'comment' },
    },
    targets: [{ connection_id: connectionId, overrides: { settings: { langs: ['en', 'pt-BR'] } } }],
  })
  expect((await tenant.settled(body.data.id)).status).toBe('published')
  const posts = (await pds.listPosts(did)).map(({ uri, record }) => ({ uri, ...(record as unknown as Threaded) }))
  const find = (text: string) => posts.find((post) => post.text.startsWith(text))!
  expect(posts).toHaveLength(4)
  expect(find('one')).toMatchObject({ text: 'one\n\nhttps://example.com/one\n\n#first', langs: ['en', 'pt-BR'] })
  expect(find('one').reply).toBeUndefined()
  for (const [text, parent] of [
    ['two', 'one'],
    ['three', 'two'],
    ['comment', 'one'],
  ] as const) {
    expect(find(text).reply.root.uri).toBe(find('one').uri)
    expect(find(text).reply.parent.uri).toBe(find(parent).uri)
  }
})

interface Threaded {
  text: string
  langs?: string[]
  reply: { root: { uri: string }; parent: { uri: string } }
}

test('301 graphemes and 3,001 bytes: strict refuses, lenient cuts at a grapheme and says so', async () => {
  const { did, connectionId } = await anAccount()
  for (const [text, unit] of [
    ['ö'.repeat(301), 'graphemes'],
    [`${'👨‍👩‍👧‍👦'.repeat(120)}x`, 'bytes'],
  ] as const) {
    const strict = await tenant.call('POST', '/v1/posts', {
      content: { text },
      connection_ids: [connectionId],
      validation: 'strict',
    })
    expect([strict.status, strict.body.error.details['fields']]).toMatchObject([
      422,
      [{ path: 'content.text', platform: 'bluesky' }],
    ])
    expect(await pds.listPosts(did)).toHaveLength(unit === 'graphemes' ? 0 : 1)
    const { post, delivery } = await publish(connectionId, text)
    expect(delivery.status).toBe('succeeded')
    expect(post.warnings).toMatchObject([{ code: 'text_truncated', unit, connection_id: connectionId }])
    const [{ record } = { record: {} }] = await pds.listPosts(did)
    const landed = String((record as { text: string }).text)
    expect(landed.endsWith('…')).toBe(true)
    expect(new RichText({ text: landed }).graphemeLength).toBeLessThanOrEqual(300)
  }
})

test('an expired session is renewed once, also when two workers find it at the same moment', async () => {
  const { did, connectionId } = await anAccount()
  const second = await app.startWorker()
  const { organisationId } = tenant
  await changeCredentials(app.sql, { organisationId, connectionId, access_jwt: pds.expiredAccessToken(did) })
  const posts = await Promise.all(Array.from({ length: 6 }, (_, at) => tenant.post(`at once ${at}`, [connectionId])))
  for (const { id } of posts) expect((await tenant.settled(id)).status).toBe('published')
  expect(await pds.listPosts(did)).toHaveLength(6)
  expect(await statusOf(connectionId)).toBe('active')
  await second.stop(20_000)
})

test('a session whose refresh token is over too is opened anew with the app password', async () => {
  const { did, connectionId } = await anAccount()
  const { organisationId } = tenant
  await changeCredentials(app.sql, {
    organisationId,
    connectionId,
    access_jwt: pds.expiredAccessToken(did),
    refresh_jwt: pds.expiredRefreshToken(did),
  })
  expect((await publish(connectionId, 'after ninety days')).delivery.status).toBe('succeeded')
})

test('an app password that was revoked ends the connection with what to do', async () => {
  const { did, connectionId } = await anAccount()
  await pds.revokeAppPasswords(did)
  const { organisationId } = tenant
  await changeCredentials(app.sql, { organisationId, connectionId, access_jwt: pds.expiredAccessToken(did) })
  const { delivery } = await publish(connectionId, 'revoked')
  expect(delivery).toMatchObject({
    status: 'failed',
    error_code: 'auth_revoked',
    error: { next_step: expect.stringContaining('Reconnect') },
  })
  expect(await statusOf(connectionId)).toBe('revoked')
  expect(await pds.listPosts(did)).toEqual([])
})

test.each(['takeDown', 'deactivate'] as const)(
  'an account after %s fails with its own code, and nothing lands',
  async (act) => {
    const { did, connectionId } = await anAccount()
    await pds[act](did)
    const { delivery } = await publish(connectionId, act)
    expect([delivery.status, delivery.error_code]).toEqual(['failed', 'auth_revoked'])
    expect(await statusOf(connectionId)).toBe('revoked')
  },
)

test('an account that is deactivated cannot be connected; an @ before a handle is forgiven', async () => {
  const { did, handle, appPassword } = await pds.createAccount(`person${++handles}.test`)
  expect((await connect(`@${handle}`, appPassword)).body.data.handle).toBe(handle)
  await pds.deactivate(did)
  const { status, body } = await connect(handle, appPassword)
  expect([status, body.error.details['platform_message']]).toEqual([422, expect.stringContaining('deactivated')])
})

test.each(['takeDown', 'deactivate'] as const)('verify flags an account after %s', async (act) => {
  const { did, connectionId } = await anAccount()
  await pds[act](did)
  const { body } = await tenant.call<{ status: string }>('POST', `/v1/connections/${connectionId}/verify`)
  expect(body.data.status).toBe('revoked')
})

test('deleting a connection ends its session at the server', async () => {
  const { connectionId } = await anAccount()
  const { refresh_jwt } = await readCredentials(app.sql, tenant.organisationId, connectionId)
  expect((await tenant.call('DELETE', `/v1/connections/${connectionId}`)).status).toBe(200)
  const answer = await fetch(`${pds.url}/xrpc/com.atproto.server.refreshSession`, {
    method: 'POST',
    headers: { authorization: `Bearer ${refresh_jwt}` },
  })
  expect(answer.status).toBe(400)
})

test('verify asks the server and flags an account that withdrew', async () => {
  const { did, connectionId, handle } = await anAccount()
  const verify = () => tenant.call<{ handle: string; status: string }>('POST', `/v1/connections/${connectionId}/verify`)
  expect((await verify()).body.data).toMatchObject({ handle, status: 'active' })
  await pds.revokeAppPasswords(did)
  const { organisationId } = tenant
  await changeCredentials(app.sql, { organisationId, connectionId, access_jwt: pds.expiredAccessToken(did) })
  expect((await verify()).body.data.status).toBe('revoked')
})

test('app password and session are in no row, log line, history or answer', async () => {
  const { connectionId, appPassword } = await anAccount()
  const { post } = await publish(connectionId, 'canary')
  const { access_jwt = '', refresh_jwt = '' } = await readCredentials(app.sql, tenant.organisationId, connectionId)
  const secrets = [appPassword, access_jwt, refresh_jwt]
  await until('it was logged', () => app.logs.some((line) => line.includes(post.id)))
  expect(secrets.every((secret) => secret.length > 10)).toBe(true)
  expect(await findLeaks(app, secrets)).toEqual([])
  expect(secrets.some((secret) => JSON.stringify(post).includes(secret))).toBe(false)
})

describe('images', () => {
  const upload = async (bytes: Buffer, alt?: string) =>
    (await tenant.upload(bytes, alt === undefined ? {} : { alt })).body.data.id
  const embedOf = async (did: string) => {
    const [post] = await pds.listPosts(did)
    return post!.record['embed'] as {
      $type: string
      external?: { uri: string; title: string }
      images?: { alt: string; image: { mimeType: string; size: number; ref: { $link: string } }; aspectRatio: object }[]
    }
  }
  const blobOf = async (did: string, cid: string) =>
    Buffer.from(await (await fetch(`${pds.url}/xrpc/com.atproto.sync.getBlob?did=${did}&cid=${cid}`)).arrayBuffer())

  test('land byte for byte with their descriptions and proportions, a fifth is dropped', async () => {
    const { did, connectionId } = await anAccount()
    const files = await Promise.all(
      (['png', 'jpeg', 'webp', 'png', 'png'] as const).map((format) => anImage({ format, width: 60 })),
    )
    const media = await Promise.all(files.map(async (bytes, at) => ({ id: await upload(bytes), alt: `number ${at}` })))
    const { post, delivery } = await publish(connectionId, 'ignored', { content: { text: 'four', media } })
    expect([delivery.status, post.warnings]).toMatchObject(['succeeded', [{ code: 'media_dropped' }]])
    const { $type, images = [] } = await embedOf(did)
    expect([$type, images.map(({ alt }) => alt)]).toEqual([
      'app.bsky.embed.images',
      ['number 0', 'number 1', 'number 2', 'number 3'],
    ])
    expect(images[0]).toMatchObject({ aspectRatio: { width: 60, height: 30 }, image: { mimeType: 'image/png' } })
    const landed = await Promise.all(images.map(({ image }) => blobOf(did, image.ref.$link)))
    expect(landed.map((bytes, at) => bytes.equals(files[at]!))).toEqual([true, true, true, true])
  })

  test('that are too large, or a GIF, are made to fit, with a warning; strict refuses them', async () => {
    const { did, connectionId } = await anAccount()
    const large = await upload(await anImage({ width: 1_500, height: 1_000, noise: true }))
    const gif = await upload(await anImage({ format: 'gif' }))
    const content = { text: 'fitted', media: [{ id: large }, { id: gif }] }
    const strict = await tenant.call('POST', '/v1/posts', {
      content,
      connection_ids: [connectionId],
      validation: 'strict',
    })
    expect(strict.status).toBe(422)
    const { post, delivery } = await publish(connectionId, 'ignored', { content })
    expect([delivery.status, post.warnings.map(({ code, path }) => `${code} ${path}`)]).toEqual([
      'succeeded',
      ['media_converted content.media.0', 'media_converted content.media.1'],
    ])
    const { images = [] } = await embedOf(did)
    expect(images.map(({ image }) => image.mimeType)).toEqual(['image/jpeg', 'image/webp'])
    expect(images[0]!.image.size).toBeLessThanOrEqual(1_000_000)
  })

  test('say nothing of where they were taken', async () => {
    const { did, connectionId } = await anAccount()
    const photograph = await sharp(await anImage({ format: 'jpeg' }))
      .withExif({ IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 31/1 0/1' } })
      .toBuffer()
    const media = [{ id: await upload(photograph, 'from the asset') }]
    expect((await publish(connectionId, 'ignored', { content: { media } })).delivery.status).toBe('succeeded')
    const { images = [] } = await embedOf(did)
    expect(images[0]!.alt).toBe('from the asset')
    expect((await sharp(await blobOf(did, images[0]!.image.ref.$link)).metadata()).exif).toBeUndefined()
  })

  test('there are none: the first link of the text gets a card', async () => {
    const { did, connectionId } = await anAccount()
    await publish(connectionId, 'read https://example.com/a/b?c=d and https://other.example')
    expect(await embedOf(did)).toEqual({
      $type: 'app.bsky.embed.external',
      external: { uri: 'https://example.com/a/b?c=d', title: 'example.com/a/b', description: '' },
    })
  })
})
