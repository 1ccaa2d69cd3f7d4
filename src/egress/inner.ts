import { Agent, type Dispatcher } from 'undici'

/** The client for addresses the operator configured (the sandbox), never for one a tenant can name. No connection is kept alive:
 *  a stale one would break after the request left and make its outcome unknown. */
export function createInnerClient(): Dispatcher {
  return new Agent({ pipelining: 0, connect: { timeout: 5_000 } })
}
