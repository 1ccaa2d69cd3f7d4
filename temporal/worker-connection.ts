import { NativeConnection } from '@temporalio/worker'
import { connectionOptions, type TemporalConfig } from './connection.js'

/** A worker's connection, apart from the client's so that an api does not load what only a worker needs. Throws while nobody answers, or there is no such namespace. */
export async function connectWorker(config: TemporalConfig): Promise<NativeConnection> {
  const connection = await NativeConnection.connect(connectionOptions(config))
  try {
    await connection.workflowService.describeNamespace({ namespace: config.namespace })
    return connection
  } catch (error) {
    await connection.close()
    throw error
  }
}
