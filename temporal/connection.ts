import { Client, Connection } from '@temporalio/client'
import type { Config } from '../src/config.js'
import { CHECK_WITHIN_MS, within } from '../src/operations/probe.js'

export type TemporalConfig = Config['temporal']

/** What either kind of connection is made with. */
export const connectionOptions = ({ address, tls, apiKey }: TemporalConfig) => ({
  address,
  tls,
  ...(apiKey && { apiKey }),
})

/** The longest wait between two tries to connect; gRPC's own is two minutes, so long would a server that is back go unnoticed. */
const RECONNECT_WITHIN_MS = 5_000

/** A client that connects on first use, so that a process starts and accepts work while Temporal is away. */
export function createTemporalClient(config: TemporalConfig): {
  client: Client
  /** Throws when the server does not answer for the namespace in the time of a check. */
  ping(): Promise<void>
  close(): Promise<void>
} {
  const { namespace } = config
  const channelArgs = { 'grpc.max_reconnect_backoff_ms': RECONNECT_WITHIN_MS }
  const connection = Connection.lazy({ ...connectionOptions(config), channelArgs })
  const ping = async () => {
    const asked = connection.withDeadline(Date.now() + CHECK_WITHIN_MS, () =>
      connection.workflowService.describeNamespace({ namespace }),
    )
    // The deadline is the call's; a connection that is being made has none.
    await within(CHECK_WITHIN_MS, asked)
  }
  return { client: new Client({ connection, namespace }), ping, close: () => connection.close() }
}
