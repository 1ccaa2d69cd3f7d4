import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { connectDatabase, type Database } from '../../src/db/client.js'
import { startBenchReceiver, type BenchReceiver } from './webhooks.js'
import { startNodeProcess, type NodeProcess } from '../stack/node-process.js'
import { startStack, type Stack } from '../stack/stack.js'

/** Ours and the bare ones beside it, on one PostgreSQL and one Temporal. */
export interface Stage {
  stack: Stack
  database: Database
  client: Client
  receiver: BenchReceiver
  bareWorker: NodeProcess
  bareApi: NodeProcess
  stop(): Promise<void>
}

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const OWN = {
  PORT: '0',
  TEMPORAL_PORT: '0',
  TEMPORAL_UI_PORT: '0',
  DATABASE_URL: '',
  TEMPORAL_ADDRESS: '',
  LOG_LEVEL: 'warn',
}

/** Starts everything in a folder of its own, with the settings of `npm run dev`. */
export async function openStage(report: (line: string) => void): Promise<Stage> {
  Object.assign(process.env, OWN)
  const folder = await mkdtemp(join(tmpdir(), 'relay-bench-'))
  await chmod(folder, 0o711) // as root, PostgreSQL runs under another user, who must get in
  const postgresSettings = ['shared_preload_libraries=pg_stat_statements']
  const receiver = await startBenchReceiver()
  const env = { EGRESS_ALLOW: receiver.host }
  const stack = await startStack({ dataDir: folder, report, postgresSettings, env })
  const { database: url, temporal: address } = stack.parts
  const database = connectDatabase({ url, name: 'bench', max: 5 })
  await database`create extension if not exists pg_stat_statements`
  const connection = await Connection.connect({ address })
  const bare = { DATABASE_URL: url, TEMPORAL_ADDRESS: address, BARE_BUNDLE: await bundleBare(folder) }
  const [bareWorker, bareApi] = await Promise.all([
    startNodeProcess({ name: 'bare worker', script: here('bare-worker.ts'), env: bare }),
    startNodeProcess({ name: 'bare api', script: here('bare-api.ts'), env: bare }),
  ])
  return {
    ...{ stack, database, receiver, bareWorker, bareApi, client: new Client({ connection }) },
    async stop() {
      await Promise.all([bareWorker.stop(), bareApi.stop(), connection.close(), database.end({ timeout: 5 })])
      receiver.stop()
      await stack.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function bundleBare(folder: string): Promise<string> {
  const logger = new DefaultLogger('ERROR')
  const { code } = await bundleWorkflowCode({ workflowsPath: here('bare-workflow.ts'), logger })
  const path = join(folder, 'bare.cjs')
  await writeFile(path, code)
  return path
}
