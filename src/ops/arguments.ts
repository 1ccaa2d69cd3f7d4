import { parseArgs } from 'node:util'
import { UsageError } from './command.js'

/** What an operator wrote behind a command: its words in order and its flags. Throws UsageError for a flag that the command does not have. */
export function readArguments(
  args: string[],
  flags: { texts?: readonly string[]; switches?: readonly string[] } = {},
): { words: string[]; text(name: string): string | undefined; has(name: string): boolean } {
  const { texts = [], switches = [] } = flags
  const options: Record<string, { type: 'string' | 'boolean' }> = Object.fromEntries([
    ...texts.map((name) => [name, { type: 'string' }]),
    ...switches.map((name) => [name, { type: 'boolean' }]),
  ])
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options })
    return {
      words: positionals,
      text: (name) => {
        const value = values[name]
        return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
      },
      has: (name) => values[name] === true,
    }
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** For a command that nothing follows. */
export function refuseArguments(args: string[], command: string): void {
  if (args.length > 0) throw new UsageError(`${command} takes nothing.`)
}
