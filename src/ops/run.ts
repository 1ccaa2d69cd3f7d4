import { readConfig } from '../config.js'
import { connectDatabase } from '../db/client.js'
import { requireCurrentSchema } from '../db/migrate.js'
import { UsageError, type Command } from './command.js'
import { describeCommands, findCommand } from './commands.js'

const print = (line: string) => void process.stdout.write(`${line}\n`)
const complain = (line: string) => void process.stderr.write(`${line}\n`)

/** Carries out one command on the database of `DATABASE_URL`, with the environment that api and worker have. */
async function carryOut(command: Command, args: string[]): Promise<void> {
  const config = readConfig(process.env)
  const database = connectDatabase({ url: config.databaseUrl, name: 'ops', max: 2 })
  try {
    await requireCurrentSchema(database)
    await command.run({ config, database, print }, args)
  } finally {
    await database.end({ timeout: 5 })
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
