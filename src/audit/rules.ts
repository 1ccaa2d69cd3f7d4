import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'

/** What of a row its hash covers, each as text or JSON, so that both sides read the same. */
export interface ChainedContent {
  id: string
  organisation_id: string | null
  /** To the microsecond, as the database keeps it. */
  at: string
  actor: unknown
  action: string
  target: unknown
  request_id: string | null
  ip: string | null
}

/** The hash before the first row of a chain. */
export const GENESIS = Buffer.alloc(32)

/** SHA-256 over the RFC 8785 form of the row, its place in the chain and the hash before it: 32 bytes. */
export function chainHash(content: ChainedContent, seq: number, prevHash: Uint8Array): Buffer {
  const text = canonicalize({ ...content, seq, prev_hash: Buffer.from(prevHash).toString('hex') })
  return createHash('sha256')
    .update(text ?? '')
    .digest()
}
