import { pino, type DestinationStream, type Logger } from 'pino'
import { hideSecrets, hideSecretText } from './hide-secrets.js'
import { LineOutput } from './log-output.js'

export type Log = Logger

const outputs: LineOutput[] = []

/** One JSON line per event on standard output (or `to`). Secrets are cut out twice: by name at any depth, then by shape from the finished line.
 *  Lines that standard output does not take are dropped: writing a log never throws, nor makes the process wait or grow. */
export function createLog({ name, level, to }: { name: string; level: string; to?: DestinationStream }): Log {
  const options = {
    name,
    level,
    base: { pid: process.pid },
    formatters: { log: hideSecrets, bindings: hideSecrets },
    hooks: { streamWrite: hideSecretText },
  }
  return pino(options, to ?? openStandardOutput(name))
}

/** Lines that this process could not write since it began. */
export function droppedLines(): number {
  return outputs.reduce((sum, { dropped }) => sum + dropped, 0)
}

function openStandardOutput(name: string): LineOutput {
  // That Node has opened its stream, although nothing is written by it, is what makes a pipe non-blocking.
  const { fd } = process.stdout
  const output = new LineOutput({ fd, name })
  outputs.push(output)
  return output
}
