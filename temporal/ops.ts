import { readConfig } from '../src/config.js'
import { connectDatabase } from '../src/db/client.js'
import { requireCurrentSchema } from '../src/db/migrate.js'
import { UsageError, type Command } from '../src/ops/command.js'
import { describeCommands, findCommand } from '../src/ops/commands.js'
import { openStore } from '../src/storage/open-store.js'
import { createTemporalOperations } from './operations.js'

const print = (line: string) => void process.stdout.write(`${line}\n`)
const complain = (line: string) => void process.stderr.write(`${line}\n`)

/** Carries out one command with the environment that api and worker have. */
async function carryOut(command: Command, args: string[]): Promise<void> {
  const config = readConfig(process.env)
  const database = connectDatabase({ url: config.databaseUrl, name: 'ops', max: 2 })
  const temporal = createTemporalOperations(config)
  try {
    if (!command.anyDatabase) await requireCurrentSchema(database)
    await command.run({ config, database, blobs: openStore(config.media), temporal, print }, args)
  } finally {
    await Promise.all([database.end({ timeout: 5 }), temporal.close()])
  }
}

const args = process.argv.slice(2)
const found = findCommand(args)
if (found) {
  await carryOut(found.command, found.rest).catch((error: unknown) => {
    complain(error instanceof Error ? error.message : String(error))
    if (error instanceof UsageError) complain(describeCommands())
    process.exitCode = 1
  })
} else if (args[0] === 'help') {
  print(describeCommands())
} else {
  complain(args.length > 0 ? `There is no command "${args.join(' ')}".` : 'Name a command.')
  complain(describeCommands())
  process.exitCode = 1
}
