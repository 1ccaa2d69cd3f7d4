import type { Dispatcher } from 'undici'
import { createEgressClient } from './egress.js'
import { createInnerClient } from './inner.js'

/** The ways out of a process. `inner` is for origins the operator configured, `egress` for every one a tenant can name; `files` only gets, also over http. */
export interface Clients {
  inner: Dispatcher
  egress: Dispatcher
  files: Dispatcher
}

/** The clients of a process. */
export function createClients({ egressAllow }: { egressAllow: readonly string[] }): Clients {
  return {
    inner: createInnerClient(),
    egress: createEgressClient({ allow: egressAllow }),
    files: createEgressClient({ allow: egressAllow, plainHttp: true }),
  }
}
