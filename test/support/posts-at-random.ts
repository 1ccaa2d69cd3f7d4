import fc from 'fast-check'
import type { Content } from '../../src/relay/posts/content.js'

const WORDS = [
  'word',
  'a',
  'Donaudampfschifffahrtsgesellschaft',
  '👨‍👩‍👧‍👦',
  '👩🏽‍🚀',
  '🇩🇪🇫🇷',
  '🏴󠁧󠁢󠁳󠁣󠁴󠁿',
  '1️⃣',
  'e\u0301',
  'Z\u0351\u036b\u0343\u036a\u0302',
  'مرحبا',
  '\u202eabc\u202c',
  'שלום',
  'नमस्ते',
  '한국어',
  '\u1112\u1161\u11ab',
  '日本語',
  'ไทย',
  '\u200b',
  '\u00a0',
  '\r\n',
  '\n',
  '\t',
  ' ',
  '…',
  '#tag',
  '#日本',
  '@someone.example',
  'https://example.com/path?x=1#y',
  'http://例え.jp/',
  'ftp://no.link',
  '<b>&amp;',
  '"quoted"',
  '\\',
  "';--",
  '�',
  '\u{1F600}',
  '\u{10FFFD}',
  'ẞ',
  'İ',
  'ﬁ',
]

const text = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...WORDS) },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1 }) },
    ),
    {
      minLength: 1,
      maxLength: 160,
    },
  )
  .chain((words) => fc.constantFrom(' ', '', '\n').map((between) => words.join(between)))
  .filter((text) => text.isWellFormed() && !text.includes('\0') && text.length > 0)
const link = fc.constantFrom(
  'https://example.com/',
  'https://example.com/a/b?c=d',
  `https://example.com/${'x'.repeat(400)}`,
)
const tags = fc.array(fc.constantFrom('one', 'two words', 'ÄÖ', '日本', '2026', 'tag'), { maxLength: 6 })
const title = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  .filter((title) => title.isWellFormed() && !title.includes('\0'))

const optional = { requiredKeys: ['text'] } as { requiredKeys: ['text'] }

/** Posts as people and machines write them: emoji families, combining marks, right to left, addresses, threads. */
export const postsAtRandom: fc.Arbitrary<Content> = fc.record(
  {
    text,
    link,
    tags,
    title,
    parts: fc.array(fc.record({ text, link }, optional), { minLength: 1, maxLength: 3 }),
    first_comment: fc.record({ text }),
  },
  optional,
)
