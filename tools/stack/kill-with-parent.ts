import type { ChildProcess } from 'node:child_process'

const living = new Map<ChildProcess, NodeJS.Signals>()

/** Sends `signal` to the child when this process exits, also when a signal ends it. Only SIGKILL of ourselves leaves it behind. */
export function killWithParent(child: ChildProcess, signal: NodeJS.Signals): void {
  if (living.size === 0) watchOurEnd()
  living.set(child, signal)
  child.once('exit', () => living.delete(child))
}

let watching = false

function watchOurEnd(): void {
  if (watching) return
  watching = true
  // Before whatever else is to happen at the end: it may throw, and may remove what they write.
  process.prependListener('exit', () => {
    for (const [child, signal] of living) child.kill(signal)
  })
  const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // A signal nobody handles ends Node without 'exit' hooks. A program with a handler of its own decides itself.
      if (process.listenerCount(signal) === 1) process.exit(128 + numbers[signal])
    })
  }
}
