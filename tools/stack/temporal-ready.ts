import { once } from 'node:events'
import { connect } from 'node:net'
import { Connection } from '@temporalio/client'
import { addAttributes, findMissingAttributes } from '../../temporal/namespace.js'

/** Throws until the namespace answers and every search attribute is known, registering those that an older database lacks. */
export async function assertTemporalReady({
  address,
  namespace,
  searchAttributes,
}: {
  address: string
  namespace: string
  searchAttributes: string[]
}): Promise<void> {
  await assertListening(address)
  const connection = await Connection.connect({ address, connectTimeout: 5000 })
  try {
    await connection.workflowService.describeNamespace({ namespace })
    const missing = await findMissingAttributes(connection, { namespace, names: searchAttributes })
    if (missing.length === 0) return

    // The server takes its --search-attribute flags only for a namespace it creates.
    await addAttributes(connection, { namespace, names: missing })
    throw new Error(`search attributes ${missing.join(', ')} are being registered`)
  } finally {
    await connection.close()
  }
}

/** A gRPC client that finds nobody waits a whole second before it tries again; a plain socket says so at once. */
async function assertListening(address: string): Promise<void> {
  const [host, port] = address.split(':')
  const socket = connect(Number(port), host)
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}
