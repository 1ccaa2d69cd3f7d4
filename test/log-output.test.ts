import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { LineOutput } from '../src/log-output.js'
import { makeFifo } from './support/fifo.js'
import { until } from './support/until.js'

const LINES = 200_000

interface Line {
  msg?: string
  lines?: number
  code?: string
  at?: number
}

const line = (at: number) => `${JSON.stringify({ at, padding: 'x'.repeat(80) })}\n`
const parse = (written: string) =>
  written
    .split('\n')
    .filter(Boolean)
    .map((each) => JSON.parse(each) as Line)

interface Logging {
  lines: number
  turns: number
  output: number | 'pipe'
}

function startLogging({ lines, turns, output }: Logging) {
  const script = fileURLToPath(new URL('support/log-many-lines.ts', import.meta.url))
  const args = ['--expose-gc', '--import', 'tsx', script, String(lines), String(turns)]
  return spawn(process.execPath, args, { stdio: ['ignore', output, 'pipe'] })
}

/** Logs so many lines, twice, in a process whose standard output is this; what it wrote there and what it says of itself. */
async function logMany(logging: Logging) {
  const child = startLogging(logging)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, said] = await Promise.all([child.stdout ? text(child.stdout) : '', text(child.stderr!)])
  expect([await ended, said]).toEqual([0, expect.stringContaining('dropped')])
  return { out, ...(JSON.parse(said) as { before: number; after: number; dropped: number }) }
}

describe('on a full disk', () => {
  test.each([1, 20, 2_000])('%i turns of the event loop full of lines neither throw nor pile up', async (turns) => {
    const full = openSync('/dev/full', 'w')
    const { before, after, dropped } = await logMany({ lines: LINES, turns, output: full })
    closeSync(full)
    // What waits for the last turn to end is not dropped yet.
    expect(dropped).toBeGreaterThan(LINES)
    expect(after / before).toBeLessThan(1.3)
  })
})

test.each([1, 30])(
  'in %i turns, what may wait is read whole and in order, also what was written just before the end',
  async (turns) => {
    const lines = 3_000 // twice as many are less than what may wait, however slow the reader
    const { out, dropped } = await logMany({ lines, turns, output: 'pipe' })
    expect(dropped).toBe(0)
    const ats = parse(out).map(({ at }) => at)
    expect(ats).toEqual(Array.from({ length: 2 * lines }, (_, index) => index % (lines / turns)))
  },
)

test('a reader that has stalled for good does not keep a process from its end', async () => {
  const child = startLogging({ lines: 3_000, turns: 1, output: 'pipe' })
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  expect(code).toBe(0)
  child.stdout?.destroy()
})

test('how many lines were dropped, and why, is told before the next line that is written, or by itself', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'relay-log-'))
  const path = join(folder, 'log')
  const fd = openSync('/dev/full', 'w')
  const output = new LineOutput({ fd, name: 'test', failedMs: 30 })
  for (let at = 0; at < 3; at++) output.write(line(at))
  await until('all are dropped', () => output.dropped === 3)
  // The disk has room again: the same descriptor is now a file.
  closeSync(fd)
  expect(openSync(path, 'a')).toBe(fd)
  await until('it is told', () => readFileSync(path, 'utf8').includes('\n'))
  output.write(line(3))
  await until('the next one is there', () => readFileSync(path, 'utf8').includes('"at":3'))
  expect(parse(readFileSync(path, 'utf8'))).toEqual([
    expect.objectContaining({ name: 'test', level: 40, msg: 'log.lines_dropped', lines: 3, code: 'ENOSPC' }),
    expect.objectContaining({ at: 3 }),
  ])
  closeSync(fd)
  await rm(folder, { recursive: true })
})

describe('a pipe', () => {
  let fifo: Awaited<ReturnType<typeof makeFifo>>
  let fd: number
  beforeEach(async () => {
    fifo = await makeFifo()
    fifo.openReader()
    fd = fifo.openWriter()
  })
  afterEach(async () => {
    closeSync(fd)
    await fifo.remove()
  })

  test('whose reader stalls: so much waits, the rest is dropped; what is not dropped is read whole and in order', async () => {
    const output = new LineOutput({ fd, name: 'test', most: 500_000, failedMs: 30 })
    const all = 20_000
    for (let at = 0; at < all; at++) output.write(line(at))
    expect(output.dropped).toBeGreaterThan(0)
    let read = ''
    await until('all of it is read', () => {
      for (let more = fifo.read(); more; more = fifo.read()) read += more
      return read.split('\n').length - 1 === all - output.dropped + 1
    })
    const lines = parse(read)
    const ats = lines.flatMap(({ at }) => (at === undefined ? [] : [at]))
    expect(ats).toEqual(Array.from({ length: all - output.dropped }, (_, at) => at))
    expect(lines.find(({ msg }) => msg === 'log.lines_dropped')).toMatchObject({ lines: output.dropped })
  })

  test('whose reader goes away in the middle of a line and comes back: the line is cut, and no other is harmed', async () => {
    const output = new LineOutput({ fd, name: 'test', failedMs: 30 })
    const long = `${JSON.stringify({ at: 0, padding: 'x'.repeat(200_000) })}\n`
    output.write(long)
    await until('a part of it is in the pipe', () => fifo.read().startsWith('{"at":0'))
    fifo.closeReader()
    output.write(line(1))
    await until('both are dropped', () => output.dropped === 2)
    fifo.openReader()
    let read = ''
    await until('it is told', () => (read += fifo.read()).includes('log.lines_dropped') && read.endsWith('\n'))
    const [cut, told] = read.split('\n')
    expect(long).toContain(cut)
    expect(JSON.parse(told!)).toMatchObject({ lines: 2, code: 'EPIPE' })
  })
})
