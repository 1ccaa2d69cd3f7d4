import { pino, type Logger } from 'pino'

export type Log = Logger

/** One JSON line per event on standard output. Anything that can hold a credential is cut out by path. */
export function createLog({ name, level }: { name: string; level: string }): Log {
  return pino({
    name,
    level,
    base: { pid: process.pid },
    redact: ['*.authorization', '*.credentials', '*.token', '*.secret', '*.key', 'req.headers'],
    serializers: { error: pino.stdSerializers.err },
  })
}
