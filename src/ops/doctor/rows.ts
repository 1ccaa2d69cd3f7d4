import { findPauses } from '../../relay/platforms/pauses.js'
import type { Operation } from '../command.js'
import type { Finding, Look } from './finding.js'
import {
  countConnections,
  countHeldWebhooks,
  countIndeterminate,
  findIdleTransactions,
  findLateDeliveries,
  findLateEndpoints,
  findUnrolledPosts,
  readLeftovers,
  readOutbox,
} from './repository.js'

/** Longer than any transaction of ours, and than a migration waits for one. */
const IDLE_MS = 5 * 60_000

const next = 'Run the doctor again once the database answers and has the schema of this release.'

const outbox: Look = {
  part: 'outbox',
  next,
  async at({ database }) {
    const { lines, untried, oldest_s, last_error } = await readOutbox(database)
    if (lines === 0) return [{ level: 'ok', part: 'outbox', says: 'nothing has waited for Temporal for a minute' }]
    // One that was tried shows that somebody is there: those behind it wait for their turn, or for an earlier line of their run.
    if (untried === lines)
      return wrong(
        'outbox',
        `${untried} lines that nobody has taken, the oldest ${oldest_s} s old`,
        'Start an api or a worker: every one of them carries lines out.',
      )
    return wrong(
      'outbox',
      `${lines} lines that Temporal did not take, the oldest ${oldest_s} s old: ${last_error}`,
      'Mend Temporal (above); they go out by themselves within a minute of its return.',
    )
  },
}

const deliveries: Look = {
  part: 'deliveries',
  next,
  async at({ database, temporal }) {
    const late = await findLateDeliveries(database)
    if (late.length === 0) return [{ level: 'ok', part: 'deliveries', says: 'none is late by five minutes' }]
    return Promise.all(late.map((delivery) => describeLate(temporal, delivery)))
  },
}

type Late = Awaited<ReturnType<typeof findLateDeliveries>>[number]

async function describeLate(temporal: Operation['temporal'], late: Late): Promise<Finding> {
  const { id, platform, status, generation, late_s, waiting_for, open } = late
  const run = await temporal.isOpen(`delivery/${id}/${generation}`).then(
    (isOpen) => (isOpen ? 'is open' : 'has ended or was never started'),
    () => 'cannot be asked for',
  )
  const waits = waiting_for ? `, waits for ${waiting_for}` : ''
  const attempt = open ? `, its attempt ${open} is not closed` : ''
  return {
    level: 'wrong',
    part: 'delivery',
    says: `${id} to ${platform} is ${status} and late by ${late_s} s${waits}${attempt}; its run ${run}`,
    next: `Look at the run delivery/${id}/${generation} in the Temporal UI; \`npm run ops -- rearm ${id}\` gives it a new one.`,
  }
}

const pauses: Look = {
  part: 'pauses',
  next,
  async at({ database }) {
    return [...(await findPauses(database)).values()].map(({ platform, reason, since }) => ({
      level: 'note',
      part: 'paused',
      says: `${platform} since ${since.toISOString()}: ${reason}`,
      next: `\`npm run ops -- resume ${platform}\` lets go what waits.`,
    }))
  },
}

const unknown: Look = {
  part: 'unknown',
  next,
  async at({ database }) {
    const count = await countIndeterminate(database)
    if (count === 0) return []
    return note(
      'unknown',
      `${count} deliveries of the last seven days may have landed or not (publish_indeterminate)`,
      'Their owners look at the account and retry with confirm_not_published; nothing sends them again by itself.',
    )
  },
}

const posts: Look = {
  part: 'posts',
  next,
  async at({ database }) {
    const ids = await findUnrolledPosts(database)
    if (ids.length === 0) return [{ level: 'ok', part: 'posts', says: 'each is settled with its last delivery' }]
    return wrong(
      'posts',
      `all deliveries are settled but not the post: ${ids.join(', ')}`,
      'This is a fault of this program. Keep the rows and report it.',
    )
  },
}

const connections: Look = {
  part: 'connections',
  next,
  async at({ database }) {
    const rows = await countConnections(database)
    return rows.flatMap(({ platform, status, count }) =>
      note('connections', `${count} to ${platform} are ${status}`, 'Their owners connect them again.'),
    )
  },
}

const webhooks: Look = {
  part: 'webhooks',
  next,
  async at({ database }) {
    const late = await findLateEndpoints(database)
    const held = await countHeldWebhooks(database)
    const findings = late.flatMap(({ id, pending, late_s }) =>
      wrong(
        'webhooks',
        `${pending} events for ${id} wait, the oldest ${late_s} s over its time`,
        `Look at the run webhook/${id} in the Temporal UI and whether the webhooks queues have pollers; a sweep wakes it every minute.`,
      ),
    )
    if (held > 0)
      findings.push(
        ...note(
          'webhooks',
          `${held} events are held for endpoints that are switched off`,
          'Their owners switch the endpoint on and recover.',
        ),
      )
    return findings.length > 0
      ? findings
      : [{ level: 'ok', part: 'webhooks', says: 'no event is late by five minutes' }]
  },
}

const leftovers: Look = {
  part: 'sweep',
  next,
  async at({ database }) {
    const { files, audit } = await readLeftovers(database)
    const findings: Finding[] = []
    if (files > 0)
      findings.push(
        ...wrong(
          'files',
          `${files} files that nothing refers to are an hour over their time`,
          'Mend the storage (above), or start an api or a worker.',
        ),
      )
    if (audit > 0)
      findings.push(
        ...wrong(
          'audit',
          `${audit} rows have waited ten minutes to be chained`,
          'Start an api or a worker: their sweep chains them.',
        ),
      )
    return findings.length > 0 ? findings : [{ level: 'ok', part: 'sweep', says: 'has left nothing lying' }]
  },
}

const transactions: Look = {
  part: 'locks',
  next,
  async at({ database }) {
    return (await findIdleTransactions(database, IDLE_MS)).flatMap(({ pid, name, minutes }) =>
      wrong(
        'locks',
        `the transaction of ${name || 'an unnamed client'} (process ${pid}) has been open for ${minutes} minutes, and holds its locks`,
        `\`select pg_terminate_backend(${pid})\` ends it.`,
      ),
    )
  },
}

/** Everything that rows tell to be stuck or to want somebody. */
export const ROWS: readonly Look[] = [
  outbox,
  deliveries,
  pauses,
  unknown,
  posts,
  connections,
  webhooks,
  leftovers,
  transactions,
]

const wrong = (part: string, says: string, next: string): Finding[] => [{ level: 'wrong', part, says, next }]
const note = (part: string, says: string, next: string): Finding[] => [{ level: 'note', part, says, next }]
