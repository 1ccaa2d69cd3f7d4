import { readConfig } from '../config.js'
import { connectDatabase } from './client.js'
import { migrate } from './migrate.js'

async function run(): Promise<void> {
  const { databaseUrl } = readConfig(process.env)
  const database = connectDatabase({ url: databaseUrl, name: 'migrate', max: 1 })
  try {
    const applied = await migrate(database, { onWait: (line) => process.stderr.write(`${line}\n`) })
    process.stdout.write(applied.length > 0 ? `Applied ${applied.join(', ')}\n` : 'The database is up to date\n')
  } finally {
    await database.end()
  }
}

await run().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
