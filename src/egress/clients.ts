import type { Dispatcher } from 'undici'
import { createEgressClient } from './egress.js'
import { createInnerClient } from './inner.js'

/** The two ways out of a process. `inner` is for origins the operator configured, `egress` for every one a tenant can name. */
export interface Clients {
  inner: Dispatcher
  egress: Dispatcher
}

/** Both clients of a process. */
export function createClients({ egressAllow }: { egressAllow: readonly string[] }): Clients {
  return { inner: createInnerClient(), egress: createEgressClient({ allow: egressAllow }) }
}
