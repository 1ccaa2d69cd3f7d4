import type { Config } from '../config.js'
import type { Database } from '../db/client.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { TemporalOperations } from './temporal-operations.js'

/** What an operator's command works with. Nothing of it is reached before it is used. */
export interface Operation {
  config: Config
  database: Database
  blobs: BlobStore
  temporal: TemporalOperations
  /** One line for the operator. */
  print: (line: string) => void
}

/** One command: named by its words, which its arguments follow. */
export interface Command {
  words: string
  /** What follows the words, as usage shows it. */
  takes: string
  does: string
  /** It also runs where the database is away, or older or newer than this code. */
  anyDatabase?: true
  /** Throws Refusal with one sentence when it cannot be done, UsageError when the arguments are none it takes. */
  run(operation: Operation, args: string[]): Promise<void>
}

/** A command that was not carried out; the message is one sentence for the operator. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** Arguments that no command takes: answered with the usage. */
export class UsageError extends Refusal {}
