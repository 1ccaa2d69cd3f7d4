import { CHECK_WITHIN_MS, within } from '../src/operations/probe.js'
import { Client, Connection } from '@temporalio/client'

interface TemporalConfig {
  address: string
  namespace: string
}

/** A client that connects on first use, so that a process starts and accepts work while Temporal is away. */
export function createTemporalClient({ address, namespace }: TemporalConfig): {
  client: Client
  /** Throws when the server does not answer in the time of a check. */
  ping(): Promise<void>
  close(): Promise<void>
} {
  const connection = Connection.lazy({ address })
  const ping = async () => {
    const asked = connection.withDeadline(Date.now() + CHECK_WITHIN_MS, () =>
      connection.workflowService.describeNamespace({ namespace }),
    )
    // The deadline is the call's; a connection that is being made has none.
    await within(CHECK_WITHIN_MS, asked)
  }
  return { client: new Client({ connection, namespace }), ping, close: () => connection.close() }
}
