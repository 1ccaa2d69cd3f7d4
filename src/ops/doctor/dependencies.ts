import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { requireCurrentSchema } from '../../db/migrate.js'
import { createInnerClient } from '../../egress/inner.js'
import { within } from '../../operations/probe.js'
import { describePlace } from '../../storage/open-store.js'
import { SEALED_COLUMNS } from '../sealed-columns.js'
import type { Operation } from '../command.js'
import type { Finding, Look } from './finding.js'
import { countSealedUnder, readServer } from './repository.js'

const ANSWER_MS = 10_000
/** Addresses of files and signatures carry this machine's time. */
const CLOCK_OFF_S = 5
const ALMOST_FULL = 0.8
/** PostgreSQL Appendix A: too_many_connections. */
const NO_SLOT = '53300'
const raise = 'Raise max_connections: an api takes up to 23, a worker up to 38.'

const database: Look = {
  part: 'database',
  next: 'Start PostgreSQL, or correct DATABASE_URL.',
  async at({ database }) {
    const server = await within(ANSWER_MS, readServer(database)).catch(orFull)
    if ('message' in server) return [{ level: 'wrong', part: 'database', says: server.message, next: raise }]
    const { version, used, most, clock_off_s, processes } = server
    const says = `PostgreSQL ${version}, ${used} of ${most} connections`
    const findings: Finding[] = [{ level: 'ok', part: 'database', says }]
    if (used > most * ALMOST_FULL)
      findings.push({
        level: 'wrong',
        part: 'slots', // not the database: it answers, and its rows can be read
        says: `${used} of ${most} connections are taken`,
        next: raise,
      })
    const off = Math.abs(clock_off_s)
    if (off > CLOCK_OFF_S)
      findings.push({
        level: 'wrong',
        part: 'clock',
        says: `this machine's clock is ${off.toFixed(0)} s off the database's`,
        next: 'Set both by NTP: due times go by the database, signatures by the process.',
      })
    const counts = ['api', 'worker'].map((name) => `${processes[name] ?? 0} ${name}`)
    findings.push({ level: 'ok', part: 'processes', says: `connected to this database: ${counts.join(', ')}` })
    return findings
  },
}

/** That it takes no more connections, as it says so; throws what else is the matter. */
function orFull(error: unknown): Error {
  if (error instanceof Error && 'code' in error && error.code === NO_SLOT) return error
  throw error
}

const schema: Look = {
  part: 'schema',
  needs: ['database'],
  next: 'Run `npm run migrate` with the newest release, or start the release that made this database.',
  async at({ database }) {
    await within(ANSWER_MS, requireCurrentSchema(database))
    return [{ level: 'ok', part: 'schema', says: 'has every migration that this release knows, and no other' }]
  },
}

const temporal: Look = {
  part: 'temporal',
  next: 'Start Temporal, or correct TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and what it is signed in with; posts are accepted meanwhile and wait in the outbox.',
  async at({ temporal, config }) {
    const { version, retentionDays, missingAttributes, queues } = await within(ANSWER_MS, temporal.inspect())
    const { namespace, address } = config.temporal
    const says = `server ${version || '(unnamed)'} at ${address}, namespace ${namespace}, closed runs kept ${retentionDays} days`
    const findings: Finding[] = [{ level: 'ok', part: 'temporal', says }]
    if (missingAttributes.length > 0)
      findings.push({
        level: 'wrong',
        part: 'temporal',
        says: `search attributes ${missingAttributes.join(', ')} are missing, and no run can be started without them`,
        next: '`npm run ops -- temporal-setup`',
      })
    for (const { queue, kind, pollers } of queues)
      findings.push(
        pollers > 0
          ? { level: 'ok', part: 'queue', says: `${queue} (${kind} tasks): ${pollers} pollers` }
          : {
              level: 'wrong',
              part: 'queue',
              says: `nobody takes ${kind} tasks of ${queue}`,
              next: 'Start a worker with the same TEMPORAL_NAMESPACE and TASK_QUEUE_SUFFIX.',
            },
      )
    return findings
  },
}

const storage: Look = {
  part: 'storage',
  next: 'Start the object store, or correct S3_* or MEDIA_DIR; `npm run ops -- storage-setup` makes a bucket that is missing. Uploads answer 503 meanwhile.',
  async at({ blobs, config }) {
    await within(ANSWER_MS, writeAndRead(blobs))
    return [
      {
        level: 'ok',
        part: 'storage',
        says: `${describePlace(config.media)} takes a file, gives it back and deletes it`,
      },
    ]
  },
}

async function writeAndRead(blobs: Operation['blobs']): Promise<void> {
  const key = `doctor/${randomBytes(12).toString('hex')}`
  const written = randomBytes(64)
  try {
    await blobs.put(key, [written] as unknown as AsyncIterable<Uint8Array>)
    const found = await blobs.get(key)
    if (!found || !(await buffer(found)).equals(written)) throw new Error('a file came back other than it was written')
  } finally {
    await blobs.delete(key)
  }
}

const keys: Look = {
  part: 'keys',
  needs: ['database', 'schema'],
  next: 'See what the database says.',
  async at({ database, config }) {
    const known = config.keyEncryptionKeys.map(({ id }) => id)
    const sealed = await countSealedUnder(database, SEALED_COLUMNS)
    const lost = [...sealed].filter(([id]) => !known.includes(id))
    if (lost.length === 0)
      return [
        {
          level: 'ok',
          part: 'keys',
          says: `KEY_ENCRYPTION_KEYS has the key of every sealed value (${known.join(', ')})`,
        },
      ]
    return lost.map(([id, count]) => ({
      level: 'wrong',
      part: 'keys',
      says: `${count} sealed values need the key ${id}, which KEY_ENCRYPTION_KEYS lacks`,
      next: 'Add it, last in the list. Without it these accounts must be connected again and these endpoints get a new secret.',
    }))
  },
}

const origin: Look = {
  part: 'api',
  next: 'Start an api, or correct PUBLIC_ORIGIN or what forwards to it.',
  async at({ config }) {
    const client = createInnerClient()
    try {
      const ask = { origin: config.publicOrigin, path: '/readyz', method: 'GET' } as const
      const { statusCode, body } = await client.request({ ...ask, signal: AbortSignal.timeout(ANSWER_MS) })
      const text = await body.text()
      if (statusCode === 200) return [{ level: 'ok', part: 'api', says: `${config.publicOrigin} is ready` }]
      throw new Error(`${config.publicOrigin}/readyz answers ${statusCode} ${text.slice(0, 200)}`)
    } finally {
      await client.close()
    }
  },
}

/** What everything else stands on, in the order in which to mend it. */
export const DEPENDENCIES: readonly Look[] = [database, schema, temporal, storage, keys, origin]
