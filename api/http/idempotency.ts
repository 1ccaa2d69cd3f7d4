import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import canonicalize from 'canonicalize'
import type { Request } from 'express'
import { claimKey, findReply, keepReply, type KeyedRequest, type StoredReply } from '../../src/accounts/idempotency.js'
import type { Caller } from '../../src/accounts/schema.js'
import type { Database, Transaction } from '../../src/db/client.js'
import { AppError, invalid } from '../../src/errors.js'
import type { AnyRoute } from './route.js'

const TWIN_WAIT_MS = 10_000
const PRINTABLE = /^[\x20-\x7e]{1,255}$/

/** The Idempotency-Key of a POST with a credential and the fingerprint of what is asked (method, route, path, query, RFC 8785 body); null without one. */
export function readKeyedRequest(route: AnyRoute, request: Request, { organisationId }: Caller): KeyedRequest | null {
  const key = request.get('idempotency-key')
  if (key === undefined || route.method !== 'post' || !route.scope) return null
  if (!PRINTABLE.test(key))
    throw invalid([{ path: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' }])
  // What writes nothing is simply done again.
  if (!route.audit) return null
  const asked = { path: route.path, url: request.originalUrl, body: (request.body as unknown) ?? null }
  return {
    organisationId,
    key,
    fingerprint: createHash('sha256')
      .update(canonicalize(asked) ?? '')
      .digest(),
  }
}

/** A reply as it is sent, and as much of it as may be kept: one-time secrets are not. */
export type FreshReply = StoredReply & { kept: string }

interface Work {
  /** Asks what must be asked outside a transaction; repeatable. */
  prepare(): Promise<unknown>
  /** Does the work and answers; in the transaction that also keeps the reply. */
  run(tx: Transaction, prepared: unknown): Promise<FreshReply>
}

export type Reply = StoredReply & { replayed: boolean }

/** One per process: does each keyed request once. Twins wait for the one at work, those of this process without a connection of their own. */
export class OnlyOnce {
  private readonly working = new Map<string, Promise<unknown>>()

  constructor(private readonly database: Database) {}

  /** Throws 409 idempotency_conflict for a key of another request, and for a twin that is still at work after ten seconds. */
  async answer(keyed: KeyedRequest, work: Work): Promise<Reply> {
    const id = `${keyed.organisationId} ${keyed.key}`
    const deadline = performance.now() + TWIN_WAIT_MS
    while (performance.now() < deadline) {
      const twin = this.working.get(id)
      if (twin) {
        await Promise.race([twin, sleep(deadline - performance.now(), undefined, { ref: false })])
        continue
      }
      const mine = this.attempt(keyed, work)
      // Twins wait for the end, whatever it is; what went wrong is this caller's to hear.
      this.working.set(id, mine.then(noResult, noResult))
      const reply = await mine.finally(() => this.working.delete(id))
      if (reply) return reply
      await sleep(50 + Math.random() * 200)
    }
    throw new AppError('idempotency_conflict', 'A request with this Idempotency-Key is still at work; ask again.', {
      reason: 'in_flight',
      retry_after: 1,
    })
  }

  /** Null: another process is at work under the key. */
  private async attempt(keyed: KeyedRequest, { prepare, run }: Work): Promise<Reply | null> {
    const stored = await findReply(this.database, keyed)
    if (stored) return { ...stored, replayed: true }
    const prepared = await prepare()
    return this.database.begin(async (tx) => {
      if (!(await claimKey(tx, keyed))) return null
      const kept = await findReply(tx, keyed)
      if (kept) return { ...kept, replayed: true }
      const { kept: keepable, ...reply } = await run(tx, prepared)
      await keepReply(tx, keyed, { ...reply, body: keepable })
      return { ...reply, replayed: false }
    })
  }
}

const noResult = () => undefined
