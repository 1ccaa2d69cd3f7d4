import { Client, Connection } from '@temporalio/client'

interface TemporalConfig {
  address: string
  namespace: string
}

/** A client that connects on first use, so that a process starts and accepts work while Temporal is away. */
export function createTemporalClient({ address, namespace }: TemporalConfig): {
  client: Client
  close(): Promise<void>
} {
  const connection = Connection.lazy({ address })
  return { client: new Client({ connection, namespace }), close: () => connection.close() }
}
