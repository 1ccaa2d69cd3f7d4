import { readDirective } from '../../src/sandbox/directive.js'

const plain = { refuse: null, slowMs: 0, drop: null, limitS: null }

test.each([
  ['hello', plain],
  ['[sandbox:content_rejected]', { ...plain, refuse: { code: 'content_rejected', times: Infinity, inside200: false } }],
  [
    'text around [sandbox:rate_limited*2] it',
    { ...plain, refuse: { code: 'rate_limited', times: 2, inside200: false } },
  ],
  ['[sandbox:slow=5]', { ...plain, slowMs: 5_000 }],
  ['[sandbox:limit=3]', { ...plain, limitS: 3 }],
  ['[sandbox:drop]', { ...plain, drop: 'found' }],
  ['[sandbox:drop-blind]', { ...plain, drop: 'blind' }],
  ['[sandbox:publish_indeterminate]', { ...plain, drop: 'blind' }],
  ['[sandbox:content_rejected*3@200]', { ...plain, refuse: { code: 'content_rejected', times: 3, inside200: true } }],
  ['[sandbox:no_such_code]', plain],
])('%s', (text, directive) => {
  expect(readDirective(text)).toEqual(directive)
})
