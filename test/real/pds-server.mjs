// A real Bluesky PDS with its PLC directory: a process of its own, because it is heavy and tests kill and freeze it.
// Not TypeScript: its packages are installed apart, and the type check of the project runs without them.
//
//   PDS_DATA_DIR              holds everything; started again on it, the server has the same accounts, secrets and ports
//   PDS_PORT, PDS_PLC_PORT    asked for only on first start in that folder
//   PDS_RATE_LIMITS=1         Bluesky's own limits; without it none
//   PDS_ACCESS_TOKEN_SECONDS  how long access tokens live; without it two hours
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openKeptDirectory } from './kept-directory.mjs'

const require = createRequire(import.meta.url)
const { Database, PlcServer } = require('@did-plc/server')
const { PDS, envToCfg, envToSecrets } = require('@atproto/pds')

const { PDS_DATA_DIR: data, PDS_RATE_LIMITS, PDS_ACCESS_TOKEN_SECONDS } = process.env
const identity = await readIdentity()
if (PDS_ACCESS_TOKEN_SECONDS) shortenAccessTokens(Number(PDS_ACCESS_TOKEN_SECONDS))

const directory = PlcServer.create({
  db: await openKeptDirectory(Database, join(data, 'directory.json')),
  port: identity.plcPort,
})
listenOnLoopback(directory)
const pds = await createPds()
listenOnLoopback(pds)
await directory.start()
await pds.start()

process.once('SIGTERM', end)
process.once('disconnect', end) // whoever started us is gone
const { publicUrl, did } = pds.ctx.cfg.service
const { jwtSecret, adminPassword } = identity
process.send({ ready: true, url: publicUrl, serviceDid: did, adminPassword, jwtSecret })

async function createPds() {
  const env = {
    hostname: 'localhost',
    port: identity.port,
    devMode: true,
    jwtSecret: identity.jwtSecret,
    adminPassword: identity.adminPassword,
    plcRotationKeyK256PrivateKeyHex: identity.rotationKey,
    dataDirectory: data,
    blobstoreDiskLocation: join(data, 'blobs'),
    didPlcUrl: `http://127.0.0.1:${identity.plcPort}`,
    serviceHandleDomains: ['.test'],
    inviteRequired: false,
    enableDidDocWithSession: true, // as bsky.social
    rateLimitsEnabled: PDS_RATE_LIMITS === '1',
    // Nobody listens there: a PDS without an AppView stores posts and shows none.
    bskyAppViewUrl: 'http://127.0.0.1:9',
    bskyAppViewDid: 'did:example:appview',
  }
  const config = envToCfg(env)
  // 'localhost' may resolve to an address we do not listen on.
  config.service.publicUrl = `http://127.0.0.1:${identity.port}`
  return PDS.create(config, envToSecrets(env))
}

async function readIdentity() {
  const file = join(data, 'identity.json')
  const kept = await readFile(file, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (kept) return JSON.parse(kept)
  const identity = {
    port: Number(process.env.PDS_PORT),
    plcPort: Number(process.env.PDS_PLC_PORT),
    jwtSecret: randomBytes(16).toString('hex'),
    adminPassword: randomBytes(16).toString('hex'),
    rotationKey: randomBytes(32).toString('hex'),
  }
  await writeFile(file, JSON.stringify(identity), { mode: 0o600 })
  return identity
}

/** Both servers listen on every interface and have no setting for it. */
function listenOnLoopback({ app }) {
  const listen = app.listen.bind(app)
  app.listen = (port) => listen(port, '127.0.0.1')
}

/** There is no setting for this either. */
function shortenAccessTokens(seconds) {
  const tokens = require('@atproto/pds/dist/account-manager/helpers/auth.js')
  const createAccessToken = tokens.createAccessToken
  tokens.createAccessToken = (options) => createAccessToken({ ...options, expiresIn: `${seconds}s` })
}

async function end() {
  await pds.destroy()
  await directory.destroy()
  process.exit(0)
}
