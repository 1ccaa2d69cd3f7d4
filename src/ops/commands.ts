import { endKey, listOrganisations, makeKey, makeOrganisation } from './accounts.js'
import { verify } from './audit.js'
import type { Command } from './command.js'
import { rearm, retry } from './deliveries.js'
import { doctor } from './doctor/doctor.js'
import { rotate } from './keys.js'
import { pause, resume } from './platforms.js'
import { storageSetup, temporalSetup } from './setup.js'
import { status } from './status.js'

export const COMMANDS: readonly Command[] = [
  status,
  doctor,
  pause,
  resume,
  rearm,
  retry,
  listOrganisations,
  makeOrganisation,
  makeKey,
  endKey,
  rotate,
  verify,
  temporalSetup,
  storageSetup,
]

/** The command that these arguments name, with what follows its words; null when there is none. */
export function findCommand(args: readonly string[]): { command: Command; rest: string[] } | null {
  for (const command of COMMANDS) {
    const words = command.words.split(' ')
    if (words.every((word, at) => args[at] === word)) return { command, rest: args.slice(words.length) }
  }
  return null
}

/** What `help` shows. */
export function describeCommands(): string {
  const rows = COMMANDS.map(({ words, takes, does }) => [`${words} ${takes}`.trim(), does] as const)
  const width = Math.max(...rows.map(([call]) => call.length))
  return ['Usage: npm run ops -- COMMAND', '', ...rows.map(([call, does]) => `  ${call.padEnd(width)}  ${does}`)].join(
    '\n',
  )
}
