import { writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

/** After so long it is tried again: a pipe that its reader has let fill up, and what does not take lines at all. */
const FULL_MS = 50
const FAILED_MS = 1_000
/** What still waits when the process ends is written as long as the reader takes some of it every so often. */
const LAST_MS = 1_000
const LAST_STEP_MS = 10

interface LineOutputOptions {
  /** A pipe must not block: whoever opens a LineOutput sees to that. */
  fd: number
  /** Of the process, for the line that tells how many were dropped. */
  name: string
  /** Characters that may wait to be written. */
  most?: number
  /** For tests, which need not wait. */
  failedMs?: number
}

/** A line on its way, or the one that tells of so many dropped ones. */
interface Piece {
  rest: Buffer
  tells: number
}

/** Lines to a file descriptor, each written at once. Never throws, waits or grows: what comes while too much waits for a slow reader, or cannot be
 *  written at all, is dropped and counted, and how many were is told once something takes lines again. (docs/decisions/0023) */
export class LineOutput implements DestinationStream {
  /** Lines dropped since the process began. */
  dropped = 0
  private untold = 0
  private why: string | undefined
  private waiting: string[] = []
  private held = 0
  private piece: Piece | null = null
  /** The last thing written was a part of a line that will not be finished. */
  private torn = false
  /** Why nothing is tried until the alarm; an error costs far more than a line. */
  private halted: 'full' | 'failed' | null = null

  constructor(private readonly options: LineOutputOptions) {
    process.once('exit', () => this.writeLast())
  }

  write(line: string): void {
    const { most = 1_000_000 } = this.options
    if (this.held + line.length > most) return this.drop(1)
    this.held += line.length
    this.waiting.push(line)
    if (!this.halted) this.writeWaiting()
  }

  private writeWaiting(): void {
    while ((this.piece ??= this.nextPiece())) {
      const problem = this.put(this.piece)
      if (problem === 'EAGAIN') return this.halt('full', FULL_MS)
      if (problem !== null) return this.giveUp(this.piece, problem)
      this.untold -= this.piece.tells
      this.piece = null
    }
  }

  private nextPiece(): Piece | null {
    // What was cut ends here: the next line begins below it.
    const before = this.torn ? '\n' : ''
    if (this.untold > 0) return { rest: Buffer.from(`${before}${this.report()}`), tells: this.untold }
    const line = this.waiting.shift()
    if (line === undefined) return null
    this.held -= line.length
    return { rest: Buffer.from(`${before}${line}`), tells: 0 }
  }

  /** Null when it was written whole, else the error's code. */
  private put(piece: Piece): string | null {
    try {
      while (piece.rest.length > 0) {
        const written = writeSync(this.options.fd, piece.rest)
        piece.rest = piece.rest.subarray(written)
        if (written > 0) this.torn = piece.rest.length > 0
      }
      return null
    } catch (error) {
      return codeOf(error)
    }
  }

  private giveUp({ tells }: Piece, problem: string): void {
    this.why = problem
    this.drop(this.waiting.length + (tells > 0 ? 0 : 1))
    this.waiting = []
    this.held = 0
    this.piece = null
    this.halt('failed', this.options.failedMs ?? FAILED_MS)
  }

  private halt(why: 'full' | 'failed', ms: number): void {
    this.halted = why
    setTimeout(() => {
      this.halted = null
      this.writeWaiting()
    }, ms).unref()
  }

  private drop(lines: number): void {
    this.dropped += lines
    this.untold += lines
  }

  /** As the process ends, when no alarm rings any more. */
  private writeLast(): void {
    let left = Infinity
    for (let waitedMs = 0; waitedMs < LAST_MS; waitedMs += LAST_STEP_MS) {
      this.halted = null
      this.writeWaiting()
      if (this.halted !== 'full') return
      const now = this.held + (this.piece?.rest.length ?? 0)
      if (now !== left) waitedMs = 0
      left = now
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_STEP_MS)
    }
  }

  private report(): string {
    const about = { level: 40, time: Date.now(), pid: process.pid, name: this.options.name }
    return `${JSON.stringify({ ...about, lines: this.untold, code: this.why, msg: 'log.lines_dropped' })}\n`
  }
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown'
}
