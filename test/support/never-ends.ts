import { runProcess } from '../../src/process.js'

// A process whose end in good order never comes.
const keepAlive = setInterval(() => undefined, 1_000)
await runProcess(async () => ({
  facts: {},
  stopWithinMs: 200,
  stop: () => new Promise<void>(() => keepAlive.ref()),
}))
