import { Readiness, statusOf } from '../../src/operations/readiness.js'

const log = { warn: () => undefined }
const ok = { ask: async () => undefined, needed: true }
const away = { ask: () => Promise.reject(new Error('away')), needed: true }

test('a hundred who ask at once cost one check, and so does a second', async () => {
  let now = 0
  let asked = 0
  let release = () => undefined as void
  const database = {
    needed: true,
    ask: () => {
      asked++
      return new Promise<void>((resolve) => (release = resolve))
    },
  }
  const readiness = new Readiness({ database }, log, () => now)
  const answers = Array.from({ length: 100 }, () => readiness.answer())
  now = 400 // the check was slow; the answer is as old as its question
  release()
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set(['ready']))
  now = 999
  await readiness.answer()
  expect(asked).toBe(1)
  now = 1_000
  const fresh = readiness.answer()
  release()
  await fresh
  expect(asked).toBe(2)
})

test('a part that is needed and away makes it unready, one that is not is only told', async () => {
  const without = await new Readiness({ database: away, temporal: ok }, log).answer()
  expect(without).toEqual({ status: 'unready', checks: { database: 'away', temporal: 'ok' } })
  expect(statusOf(without)).toEqual({ code: 503, headers: { 'retry-after': '1' } })
  const accepting = await new Readiness({ database: ok, temporal: { ...away, needed: false } }, log).answer()
  expect(accepting).toEqual({ status: 'ready', checks: { database: 'ok', temporal: 'away' } })
  expect(statusOf(accepting).code).toBe(200)
})

test('draining is said at once, to those who asked before as well', async () => {
  const readiness = new Readiness({ database: ok }, log)
  const before = readiness.answer()
  readiness.drain()
  for (const answer of [await before, await readiness.answer()]) {
    expect(answer.status).toBe('draining')
    expect(statusOf(answer).code).toBe(503)
  }
})

test('a part that goes and comes is logged twice, however often it is asked', async () => {
  const lines: unknown[] = []
  let there = true
  let now = 0
  const database = { needed: true, ask: async () => (there ? undefined : Promise.reject(new Error('gone'))) }
  const readiness = new Readiness({ database }, { warn: (line: unknown) => lines.push(line) as never }, () => now)
  for (const next of [true, false, false, false, true, true]) {
    there = next
    await readiness.answer()
    now += 1_000
  }
  expect(lines).toMatchObject([
    { part: 'database', result: 'away' },
    { part: 'database', result: 'ok' },
  ])
})
