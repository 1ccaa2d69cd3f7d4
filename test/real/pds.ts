import { createHmac, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startNodeProcess } from '../../tools/stack/node-process.js'
import { freePort } from '../../tools/stack/ports.js'
import { callXrpc } from './xrpc.js'

export interface PdsOptions {
  /** Started again on the same folder, it has the same url, accounts and posts. Without one it takes a new one, gone after `stop`. */
  dataDir?: string
  /** Bluesky's own limits. Default none, so that tests are not throttled. */
  rateLimits?: boolean
  /** How long access tokens live. Default two hours. */
  accessTokenSeconds?: number
  onLine?: (line: string) => void
}

export interface PdsAccount {
  did: string
  handle: string
  email: string
  password: string
  appPassword: string
}

export interface PdsPost {
  uri: string
  rkey: string
  record: Record<string, unknown>
}

export interface Pds {
  url: string
  dataDir: string
  /** Signs its tokens (HS256), see `signToken`. */
  jwtSecret: string
  /** `handle` ends in .test. */
  createAccount(handle: string): Promise<PdsAccount>
  /** Every post the account has, highest key first: the judge of lost and doubled. Throws while it is taken down or deactivated. */
  listPosts(did: string): Promise<PdsPost[]>
  takeDown(did: string): Promise<void>
  deactivate(did: string): Promise<void>
  /** Ends a takedown and a deactivation. */
  reinstate(did: string): Promise<void>
  /** Sessions made with them cannot be refreshed any more; their access tokens live on until they expire. */
  revokeAppPasswords(did: string): Promise<void>
  /** What a session of an app password holds once its two hours are over. */
  expiredAccessToken(did: string): string
  /** The same after its 90 days. */
  expiredRefreshToken(did: string): string
  stop(): Promise<void>
  /** Resolves once it is gone; at once for SIGSTOP and SIGCONT. */
  kill(signal: NodeJS.Signals): Promise<void>
}

/** Starts a real Bluesky PDS with its own PLC directory. Needs `installRealServers`. Throws one sentence when it does not start. */
export async function startPds(options: PdsOptions = {}): Promise<Pds> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'pds-')))
  const child = await startNodeProcess({
    name: 'PDS',
    script: fileURLToPath(new URL('./pds-server.mjs', import.meta.url)),
    env: {
      PDS_DATA_DIR: dataDir,
      PDS_PORT: String(await freePort()),
      PDS_PLC_PORT: String(await freePort()),
      PDS_RATE_LIMITS: options.rateLimits ? '1' : undefined,
      PDS_ACCESS_TOKEN_SECONDS: options.accessTokenSeconds?.toString(),
    },
    ...(options.onLine === undefined ? {} : { onLine: options.onLine }),
  })
  const facts = child.facts as { url: string; serviceDid: string; adminPassword: string; jwtSecret: string }
  const { url, serviceDid, jwtSecret } = facts
  const asAdmin = `Basic ${Buffer.from(`admin:${facts.adminPassword}`).toString('base64')}`
  const sign = (did: string, claims: object): string => signToken(jwtSecret, { sub: did, aud: serviceDid, ...claims })
  const asOwner = (did: string): string => {
    const token = sign(did, { scope: 'com.atproto.access', exp: now() + 60 })
    return `Bearer ${token}`
  }
  const setStatus = async (did: string, status: object): Promise<void> => {
    const subject = { $type: 'com.atproto.admin.defs#repoRef', did }
    const body = { subject, ...status }
    await callXrpc(url, 'com.atproto.admin.updateSubjectStatus', { authorization: asAdmin, body })
  }

  return {
    url,
    dataDir,
    jwtSecret,
    createAccount: (handle) => createAccount(url, handle),
    listPosts: (did) => listPosts(url, did),
    takeDown: (did) => setStatus(did, { takedown: { applied: true, ref: 'test' } }),
    deactivate: (did) => setStatus(did, { deactivated: { applied: true } }),
    reinstate: (did) => setStatus(did, { takedown: { applied: false }, deactivated: { applied: false } }),
    revokeAppPasswords: (did) => revokeAppPasswords(url, asOwner(did)),
    expiredAccessToken: (did) => sign(did, { scope: 'com.atproto.appPass', exp: now() - 60 }),
    expiredRefreshToken: (did) => sign(did, { scope: 'com.atproto.refresh', jti: 'expired', exp: now() - 60 }),
    async stop() {
      child.kill('SIGCONT') // a frozen one would not hear the request to end
      await child.stop()
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    },
    async kill(signal) {
      child.kill(signal)
      if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await child.exited
    },
  }
}

/** A token as the PDS makes them; it also reads `typ` when there is one, and takes tokens without. `exp` in seconds since 1970. */
function signToken(secret: string, claims: object): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode({ alg: 'HS256' })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}

async function createAccount(url: string, handle: string): Promise<PdsAccount> {
  const email = `${handle}@example.com`
  const password = randomBytes(12).toString('hex')
  const account = { handle, email, password }
  const { did, accessJwt } = await callXrpc<{ did: string; accessJwt: string }>(
    url,
    'com.atproto.server.createAccount',
    { body: account },
  )
  const { password: appPassword } = await callXrpc<{ password: string }>(url, 'com.atproto.server.createAppPassword', {
    authorization: `Bearer ${accessJwt}`,
    body: { name: 'relay' },
  })
  return { did, ...account, appPassword }
}

async function listPosts(url: string, did: string): Promise<PdsPost[]> {
  const posts: PdsPost[] = []
  for (let cursor: string | undefined; ;) {
    const page = await callXrpc<{ cursor?: string; records: { uri: string; value: Record<string, unknown> }[] }>(
      url,
      'com.atproto.repo.listRecords',
      { query: { repo: did, collection: 'app.bsky.feed.post', limit: '100', ...(cursor ? { cursor } : {}) } },
    )
    for (const { uri, value } of page.records) posts.push({ uri, rkey: uri.split('/').at(-1)!, record: value })
    cursor = page.cursor
    if (!cursor) return posts
  }
}

async function revokeAppPasswords(url: string, authorization: string): Promise<void> {
  const { passwords } = await callXrpc<{ passwords: { name: string }[] }>(url, 'com.atproto.server.listAppPasswords', {
    authorization,
  })
  for (const { name } of passwords) {
    await callXrpc(url, 'com.atproto.server.revokeAppPassword', { authorization, body: { name } })
  }
}
