import { readConfig } from '../src/config.js'

const trustProxy = (TRUST_PROXY: string) => readConfig({ DATABASE_URL: 'postgres://x/y', TRUST_PROXY }).trustProxy

test.each([
  ['', false],
  ['2', 2],
  ['loopback', ['loopback']],
  ['10.0.0.0/8, 192.0.2.1, fd00::/8', ['10.0.0.0/8', '192.0.2.1', 'fd00::/8']],
])('TRUST_PROXY=%s', (text, expected) => {
  expect(trustProxy(text)).toEqual(expected)
})

test.each(['true', '0', '-1', 'everybody', '10.0.0.0/8,', '10.1', '10.0.0.0/99'])(
  'TRUST_PROXY=%s is refused',
  (text) => {
    expect(() => trustProxy(text)).toThrow(/TRUST_PROXY/)
  },
)
