import { Readiness, statusOf } from '../../src/operations/readiness.js'

const log = { warn: () => undefined }
const ok = { ask: async () => undefined, needed: true }
const away = { ask: () => Promise.reject(new Error('away')), needed: true }

/** Of a process that has started. */
function startedWith(...[checks, its = log, clock]: ConstructorParameters<typeof Readiness>): Readiness {
  const readiness = new Readiness(checks, its, clock)
  readiness.started()
  return readiness
}

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
  const readiness = startedWith({ database }, log, () => now)
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
  const without = await startedWith({ database: away, temporal: ok }, log).answer()
  expect(without).toEqual({ status: 'unready', checks: { database: 'away', temporal: 'ok' } })
  expect(statusOf(without)).toEqual({ code: 503, headers: { 'retry-after': '1' } })
  const accepting = await startedWith({ database: ok, temporal: { ...away, needed: false } }, log).answer()
  expect(accepting).toEqual({ status: 'ready', checks: { database: 'ok', temporal: 'away' } })
  expect(statusOf(accepting).code).toBe(200)
})

test('draining is said at once, to those who asked before as well', async () => {
  const readiness = startedWith({ database: ok }, log)
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
  const readiness = startedWith({ database }, { warn: (line: unknown) => lines.push(line) as never }, () => now)
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

test('a process that is starting gets no work, and says what it waits for', async () => {
  const readiness = new Readiness({ database: away, temporal: ok }, log)
  const answer = await readiness.answer()
  expect(answer).toEqual({ status: 'starting', checks: { database: 'away', temporal: 'ok' } })
  expect(statusOf(answer).code).toBe(503)
  readiness.started()
  expect((await readiness.answer()).status).toBe('unready')
  readiness.drain()
  readiness.started()
  expect((await readiness.answer()).status).toBe('draining')
})

test('a part may be asked less often than the others', async () => {
  let now = 0
  const asked: string[] = []
  const part = (name: string, freshMs?: number) => ({
    needed: false,
    ask: async () => asked.push(name),
    ...(freshMs && { freshMs }),
  })
  const readiness = startedWith({ database: part('database'), storage: part('storage', 10_000) }, log, () => now)
  for (now of [0, 1_000, 9_000, 10_000]) await readiness.answer()
  expect(asked.filter((name) => name === 'database')).toHaveLength(4)
  expect(asked.filter((name) => name === 'storage')).toHaveLength(2)
})

test('a part that was away is asked again after a second, however long its answer would count', async () => {
  let now = 0
  let there = false
  const ask = async () => (there ? undefined : Promise.reject(new Error('cold')))
  const readiness = startedWith({ storage: { needed: false, freshMs: 10_000, ask } }, log, () => now)
  expect((await readiness.answer()).checks).toEqual({ storage: 'away' })
  there = true
  now = 1_000
  expect((await readiness.answer()).checks).toEqual({ storage: 'ok' })
})
