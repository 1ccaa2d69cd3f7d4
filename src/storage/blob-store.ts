import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'

/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  start: number
  end: number
}

/** What a stream turned out to hold; `sha256` has 32 bytes. */
export interface Measured {
  bytes: number
  sha256: Buffer
}

/** Where files are kept, by key. A key is written once: what is there is whole and never changes. */
export interface BlobStore {
  /** Writes a stream as it comes, whatever its length. Throws what the stream throws, and then nothing is there. */
  put(key: string, content: AsyncIterable<Uint8Array>): Promise<Measured>
  /** A file or a part of it; null when there is none. */
  get(key: string, range?: ByteRange): Promise<Readable | null>
  /** The length of a file in bytes; null when there is none. */
  size(key: string): Promise<number | null>
  /** Takes a file away; that there is none is fine. */
  delete(key: string): Promise<void>
  /** Throws when the place cannot be reached, or is not there; gives up after `withinMs`. */
  ping(withinMs: number): Promise<void>
  /** Makes the place where there is none; answers whether it did. */
  create(): Promise<boolean>
}

/** Throws for a key that could mean a place outside the store. */
export function requireKey(key: string): string {
  if (!/^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/.test(key)) throw new Error(`Not a key of the blob store: ${key}`)
  return key
}

/** Counts and hashes what passes through; `measured` answers once all of it has. */
export function measure(content: AsyncIterable<Uint8Array>) {
  const hash = createHash('sha256')
  let bytes = 0
  async function* pass(): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      bytes += chunk.byteLength
      hash.update(chunk)
      yield chunk
    }
  }
  return { content: pass(), measured: (): Measured => ({ bytes, sha256: hash.digest() }) }
}
