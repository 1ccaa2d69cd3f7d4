import { pino, type DestinationStream, type Logger } from 'pino'
import { hideSecrets, hideSecretText } from './hide-secrets.js'

export type Log = Logger

/** One JSON line per event on standard output (or `to`). Secrets are cut out twice: by name at any depth, then by shape from the finished line. */
export function createLog({ name, level, to }: { name: string; level: string; to?: DestinationStream }): Log {
  const options = {
    name,
    level,
    base: { pid: process.pid },
    formatters: { log: hideSecrets, bindings: hideSecrets },
    hooks: { streamWrite: hideSecretText },
  }
  return to ? pino(options, to) : pino(options)
}
