import { setTimeout as sleep } from 'node:timers/promises'
import { startChild, succeeded } from '../stack/child.js'
import { startUntilReady, type NodeProcess } from '../stack/node-process.js'
import type { Image } from './build-image.js'

/** As long as docker-compose.yml gives a container between SIGTERM and SIGKILL. */
const GRACE_MS = 60_000
/** A command that is to end by itself. */
const RUN_WITHIN_MS = 120_000
const READY_WITHIN_MS = 60_000

interface FleetOptions {
  image: Image
  /** Path of the `node` it has. */
  node: string
  /** What every container is given. */
  env: NodeJS.ProcessEnv
  report: (line: string) => void
}

/** What is kept up under one name. */
interface Member {
  child: NodeProcess
  command: string[]
  env: NodeJS.ProcessEnv
}

/** Processes of an image, kept up as a container engine would: one that ends by itself is started again. */
export class Fleet {
  private readonly members = new Map<string, Member>()
  private readonly revivals = new Set<Promise<void>>()
  /** How every process that was asked to end did: null was killed. */
  readonly ends: (number | null)[] = []
  private stopping = false

  constructor(private readonly options: FleetOptions) {}

  /** Starts a process, with the image's own command where none is given, and waits until it is ready. */
  async start(name: string, env: NodeJS.ProcessEnv, command = this.options.image.command): Promise<void> {
    const child = await startUntilReady({ name, ...this.how(command, env), readyWithinMs: READY_WITHIN_MS })
    this.members.set(name, { child, command, env })
    child.exited.catch((error: Error) => this.revive(name, error))
  }

  /** Ends a process in good order and starts it again, as a deployment does. */
  async restart(name: string): Promise<void> {
    const { child, env, command } = this.memberOf(name)
    await this.end(name, child)
    await this.start(name, env, command)
  }

  /** Ends everything in good order. */
  async stop(): Promise<void> {
    this.stopping = true
    await Promise.all(this.revivals)
    const members = [...this.members]
    this.members.clear()
    await Promise.all(members.map(([name, { child }]) => this.end(name, child)))
  }

  /** Runs a command of the image to its end; answers the lines it printed. Throws when it fails, or does not end. */
  async run(command: string[], env: NodeJS.ProcessEnv = {}): Promise<string[]> {
    const lines: string[] = []
    const name = command.slice(1).join(' ')
    const child = await startChild({ name, ...this.how(command, env), onLine: (line) => void lines.push(line) })
    const alarm = setTimeout(() => child.kill('SIGKILL'), RUN_WITHIN_MS)
    const failure = `${name} failed, or did not end within ${RUN_WITHIN_MS / 1_000} s`
    await succeeded(child, failure).finally(() => clearTimeout(alarm))
    return lines
  }

  private how(command: string[], env: NodeJS.ProcessEnv) {
    const { image, node } = this.options
    const [program, ...args] = command
    if (program !== 'node') throw new Error(`The image runs node, not ${program}.`)
    // Like USER node: nobody's rights, where this was started as root.
    const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
    return { command: node, args, cwd: image.workdir, env: { ...image.env, ...this.options.env, ...env }, ...user }
  }

  private async end(name: string, child: NodeProcess): Promise<void> {
    await child.stop(GRACE_MS)
    const { exitCode } = child.process
    this.ends.push(exitCode)
    if (exitCode !== 0)
      this.options.report(`    ${name} ended with ${exitCode === null ? 'a kill' : exitCode}${child.lastLines()}`)
  }

  private revive(name: string, error: Error): void {
    if (this.stopping) return
    this.options.report(`    ${name} ended by itself and is started again (${error.message.split('\n')[0]})`)
    const reviving = this.startAgain(name).finally(() => this.revivals.delete(reviving))
    this.revivals.add(reviving)
  }

  /** Until it stays up, as an engine does. */
  private async startAgain(name: string): Promise<void> {
    const { env, command } = this.memberOf(name)
    for (;;) {
      await sleep(1_000)
      if (this.stopping) return
      try {
        return await this.start(name, env, command)
      } catch (error) {
        this.options.report(
          `    ${name} is tried again (${error instanceof Error ? error.message.split('\n')[0] : ''})`,
        )
      }
    }
  }

  private memberOf(name: string): Member {
    const member = this.members.get(name)
    if (!member) throw new Error(`There is no process ${name}.`)
    return member
  }
}
