import { ENDS_OF_CRASHES, freezeWorkerAt, SANDBOX } from '../support/crash.js'

describe('a worker frozen past its heartbeat, overtaken and thawed, sends nothing twice and changes nothing', () => {
  test.concurrent.each(ENDS_OF_CRASHES)('at %s', async (point, ledger) => {
    const { status, after, attempts, accepted } = await freezeWorkerAt(point, SANDBOX, `frozen at ${point}`)
    expect([status, after, accepted]).toEqual(['published', 'published', 1])
    expect(attempts).toEqual(ledger)
  })
})
