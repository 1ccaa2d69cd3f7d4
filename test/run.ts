import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { connectDatabase } from '../src/db/client.js'
import { migrate } from '../src/db/migrate.js'
import { SEARCH_ATTRIBUTES } from '../temporal/task-queues.js'
import { bundleWorkflows } from '../tools/stack/bundle.js'
import { startPostgres } from '../tools/stack/postgres.js'
import { findTemporal } from '../tools/stack/temporal-cli.js'
import { startTemporal } from '../tools/stack/temporal.js'
import { TEMPLATE } from './support/database.js'

/** Starts one PostgreSQL and one Temporal for the whole run, has Jest run the tests named (all by default), prints the closing line. */
async function run(jestArguments: string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'relay-test-'))
  await chmod(folder, 0o711) // as root, PostgreSQL runs under another user, who must get in
  const report = (line: string) => void process.stdout.write(`${line}\n`)
  const temporalCli = await findTemporal(report)
  const [database, temporal, bundle] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres'), port: 0, durable: false }),
    startTemporal({
      binary: temporalCli,
      databaseFile: undefined,
      port: 0,
      uiPort: 0,
      searchAttributes: [...SEARCH_ATTRIBUTES],
      namespace: 'default',
    }),
    bundleWorkflows(),
  ])
  try {
    await makeTemplate(database.url)
    const results = join(folder, 'results.json')
    const status = await runJest([...jestArguments, '--json', `--outputFile=${results}`], {
      TEST_POSTGRES_URL: database.url('postgres'),
      TEST_TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_CLI: temporalCli,
      WORKFLOW_BUNDLE: bundle,
    })
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, numPendingTests } = JSON.parse(
      await readFile(results, 'utf8'),
    ) as Record<string, number>
    const failed = (numFailedTests ?? 0) + (numRuntimeErrorTestSuites ?? 0)
    const skipped = numPendingTests ? `, ${numPendingTests} skipped` : ''
    report(`\n${numPassedTests} passed, ${failed} failed${skipped}`)
    return numPassedTests ? status : 1
  } finally {
    await Promise.all([database.stop(), temporal.stop()])
    await rm(folder, { recursive: true, force: true })
  }
}

async function makeTemplate(url: (database: string) => string): Promise<void> {
  const admin = postgres(url('postgres'), { max: 1 })
  await admin.unsafe(`create database ${TEMPLATE}`)
  await admin.end()
  const template = connectDatabase({ url: url(TEMPLATE), name: 'migrate', max: 1 })
  await migrate(template)
  await template.end()
}

function runJest(jestArguments: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const jest = createRequire(import.meta.url).resolve('jest/bin/jest')
  const child = spawn(process.execPath, ['--experimental-vm-modules', '--no-warnings', jest, ...jestArguments], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', (code) => resolve(code ?? 1))
  })
}

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
process.exit()
