import { setTimeout as sleep } from 'node:timers/promises'
import { connectDatabase, type Database } from '../db/client.js'

/** How long PostgreSQL and Temporal may take to answer a check. */
export const CHECK_WITHIN_MS = 500

const IDLE_SECONDS = 30

/** A connection of its own for looking from outside: it neither waits for the pools of requests and deliveries nor takes from them. */
export class DatabaseProbe {
  private pool: Database | null = null

  constructor(private readonly target: { url: string; name: string }) {}

  /** What `look` reads. Throws when there is no answer within the time; the connection is then given up, as one to a server that froze would hang. */
  async ask<T>(withinMs: number, look: (database: Database) => Promise<T>): Promise<T> {
    const pool = (this.pool ??= connectDatabase({ ...this.target, max: 1, idleSeconds: IDLE_SECONDS }))
    try {
      return await within(withinMs, look(pool))
    } catch (error) {
      await this.giveUp(pool)
      throw error
    }
  }

  /** Throws unless the server answers in the time of a check. */
  async ping(): Promise<void> {
    await this.ask(CHECK_WITHIN_MS, (database) => database`select 1`)
  }

  /** Ends the connection. */
  async end(): Promise<void> {
    if (this.pool) await this.giveUp(this.pool)
  }

  private async giveUp(pool: Database): Promise<void> {
    if (this.pool === pool) this.pool = null
    await pool.end({ timeout: 0 })
  }
}

/** The result of `work`; throws when it takes longer. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const alarm = new AbortController()
  const late = sleep(ms, undefined, { signal: alarm.signal, ref: false }).then(() => {
    throw new Error(`No answer within ${ms} ms`)
  })
  return Promise.race([work, late]).finally(() => alarm.abort())
}
