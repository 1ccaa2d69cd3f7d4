import { makeKey } from '../src/accounts/key-format.js'
import { createLog } from '../src/log.js'

const { text: key } = makeKey()
const CANARY = 'canary-8f3a1c77d2'
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl'

/** What the log writes for one call. */
function written(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = []
  write(createLog({ name: 'test', level: 'trace', to: { write: (line) => void lines.push(line) } }))
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow()
  return lines.join('')
}

const nest = (value: unknown, depth: number): unknown =>
  depth === 0 ? value : { [`level${depth}`]: nest(value, depth - 1) }

describe.each([0, 1, 2, 3, 4, 5, 8])('%i levels down', (depth) => {
  test.each([
    ...[
      'authorization',
      'Authorization',
      'cookie',
      'set-cookie',
      'x-api-key',
      'app_password',
      'appPassword',
      'password',
    ],
    ...[
      'token',
      'access_token',
      'refreshToken',
      'accessJwt',
      'secret',
      'client_secret',
      'key',
      'pepper',
      'databaseUrl',
    ],
  ])('nothing is shown under the name %s', (name) => {
    const line = written((log) => log.info({ it: nest({ [name]: CANARY, kept: 'kept' }, depth) }, 'said'))
    expect(line).not.toContain(CANARY)
    expect(line.includes('kept')).toBe(depth <= 5)
  })

  test('nor inside what such a name holds, nor in a list', () => {
    const secrets = { credentials: { any: { name: CANARY } }, headers: [['x', CANARY]], each: [{ token: CANARY }] }
    expect(written((log) => log.info(nest(secrets, depth + 1) as object, 'said'))).not.toContain(CANARY)
  })
})

test.each([
  ['an API key', key],
  ['a key of the other product', `sk_${CANARY}`],
  ['a webhook secret', `whsec_${Buffer.from(CANARY).toString('base64')}`],
  ['a bearer token', `Bearer ${CANARY}`],
  ['basic authentication', `basic ${Buffer.from(`me:${CANARY}`).toString('base64')}`],
  ['a JWT', JWT],
  ['a password inside an address', `postgres://relay:${CANARY}@db.example/relay`],
  ['a token in a fragment', `https://x.example/sign#token=${CANARY}`],
  ['a token in a query', `https://x.example/?a=1&access_token=${CANARY}&b=2`],
])('%s is not shown, wherever it stands', (_what, secret) => {
  const error = new Error(`It was "${secret}", he said`, { cause: new TypeError(`because of ${secret}`) })
  const line = written((log) => {
    log.info(`a message with ${secret} in it`)
    log.info({ remark: `a value with ${secret}`, list: [[secret]], [secret]: 1 }, 'said %s', secret)
    log.error({ error }, 'failed')
    log.error(error)
    log.child({ remark: secret }).info('of a child')
  })
  for (const part of [secret, CANARY, JWT.split('.')[1]!, Buffer.from(CANARY).toString('base64')])
    expect(line).not.toContain(part)
  expect(line.match(/\[redacted\]/g)?.length).toBeGreaterThanOrEqual(8)
})

test('of an error only what tells is shown: no request, headers, configuration, parameters or quoted row', () => {
  const carried = { data: CANARY, url: `https://x.example/${CANARY}` }
  const cause = Object.assign(new TypeError('inner'), { code: 'EPIPE', request: carried })
  const error = Object.assign(new Error('outer', { cause }), {
    ...{ code: 'ECONNRESET', status: 502, request: carried, response: carried, config: carried, options: carried },
    ...{ query: CANARY, parameters: [CANARY], detail: CANARY, where: CANARY, body: CANARY, metadata: carried },
  })
  const line = written((log) => {
    log.error({ error }, 'failed')
    log.error({ deep: { inside: [error] } }, 'failed')
    log.error({ error: new AggregateError([error], 'several') }, 'failed')
  })
  expect(line).not.toContain(CANARY)
  const { error: shown } = JSON.parse(line.split('\n')[0]!) as { error: Record<string, unknown> }
  expect(shown).toMatchObject({ type: 'Error', message: 'outer', code: 'ECONNRESET', status: 502 })
  expect(shown['cause']).toMatchObject({ type: 'TypeError', message: 'inner', code: 'EPIPE' })
  expect(shown['stack']).toContain('log.test.ts')
})

test('what is no secret is shown as it is, and what cannot be JSON ends no process', () => {
  const circle: Record<string, unknown> = { name: 'round' }
  circle['self'] = circle
  const plain = { delivery_id: 'dlv_01', task_queue: 'publish', risk_level: 2, at: new Date(0), big: 12n, none: null }
  const line = written((log) => log.info({ ...plain, circle, bytes: Buffer.from(CANARY), call: () => CANARY }, 'said'))
  expect(JSON.parse(line)).toMatchObject({
    ...plain,
    at: '1970-01-01T00:00:00.000Z',
    big: '12',
    bytes: `[${CANARY.length} bytes]`,
    msg: 'said',
    name: 'test',
  })
  expect(line).not.toContain(CANARY)
})
