import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Client, Connection } from '@temporalio/client'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SEARCH_ATTRIBUTES } from '../../temporal/task-queues.js'
import { freePort } from '../../tools/stack/ports.js'
import { startTemporal, type Temporal } from '../../tools/stack/temporal.js'

const run = promisify(execFile)

export interface HistoryEvent {
  eventType: string
  userMetadata?: { summary?: { data: string } }
}

/** A run's history on the run's server, as the operator's own tool shows it. */
export async function showHistory(workflowId: string): Promise<{ json: string; events: HistoryEvent[] }> {
  const address = process.env.TEST_TEMPORAL_ADDRESS ?? ''
  const ask = ['workflow', 'show', '--address', address, '-w', workflowId, '--output', 'json']
  const { stdout } = await run(process.env.TEMPORAL_CLI ?? '', ask)
  return { json: stdout, events: (JSON.parse(stdout) as { events: HistoryEvent[] }).events }
}

/** A client of the run's Temporal server, or of another one. */
export async function connectTemporal(
  address = process.env.TEST_TEMPORAL_ADDRESS ?? '',
): Promise<{ client: Client; close(): Promise<void> }> {
  const connection = await Connection.connect({ address })
  return { client: new Client({ connection }), close: () => connection.close() }
}

/** A Temporal server of a test's own, that it may stop and start again with what it knew. */
export async function reserveTemporal() {
  const [folder, port] = await Promise.all([mkdtemp(join(tmpdir(), 'relay-temporal-')), freePort()])
  let server: Temporal | null = null
  return {
    address: `127.0.0.1:${port}`,
    async start(namespace = 'default') {
      const binary = process.env.TEMPORAL_CLI ?? ''
      const databaseFile = join(folder, 'temporal.sqlite')
      server = await startTemporal({
        binary,
        databaseFile,
        port,
        uiPort: 0,
        searchAttributes: [...SEARCH_ATTRIBUTES],
        namespace,
      })
    },
    async stop() {
      await server?.stop()
      server = null
    },
    /** Ends it at once and takes everything it knew. */
    async lose() {
      await server?.stop(0)
      server = null
      await rm(folder, { recursive: true })
      await mkdir(folder)
    },
    async remove() {
      await server?.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
