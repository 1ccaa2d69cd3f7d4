import { bluesky } from '../../../src/relay/platforms/bluesky.js'
import { countGraphemes } from 'unicode-segmenter/grapheme'
import type { ResolvedContent } from '../../../src/relay/posts/content.js'
import { project } from '../../../src/relay/posts/projection.js'

const projectText = (content: ResolvedContent) => {
  const { pieces, adaptations } = project(bluesky, content)
  return { text: pieces[0]!.text, adaptations }
}

const family = '👨‍👩‍👧‍👦' // one grapheme, 25 bytes

test('a text at both limits stays as it is', () => {
  expect(project(bluesky, { text: 'x'.repeat(300) })).toMatchObject({
    pieces: [{ kind: 'post', text: 'x'.repeat(300) }],
    adaptations: [],
  })
  expect(project(bluesky, { text: family.repeat(120) }).adaptations).toEqual([]) // 3,000 bytes
})

test('301 graphemes end in an ellipsis at 300, with a warning that counts them', () => {
  const { text, adaptations } = projectText({ text: 'é'.normalize('NFD').repeat(301) })
  expect(countGraphemes(text)).toBe(300)
  expect(text.endsWith('…')).toBe(true)
  expect(adaptations).toEqual([
    {
      code: 'text_truncated',
      path: 'content.text',
      message: expect.stringContaining('300 graphemes'),
      limit: 300,
      received: 301,
      unit: 'graphemes',
    },
  ])
})

test('3,001 bytes are cut at the border of a grapheme', () => {
  const text = `${family.repeat(120)}x`
  const projected = projectText({ text })
  expect(projected.adaptations).toMatchObject([{ limit: 3_000, received: 3_001, unit: 'bytes' }])
  expect(projected.text).toBe(`${family.repeat(119)}…`)
})

test('the same content always gives the same text, and an adapted text needs no adapting', () => {
  const words = ['wort', family, '🇩🇪', 'مرحبا', 'e\u0301', ' ', 'https://example.com/path', '👍🏽']
  for (let seed = 1; seed <= 300; seed++) {
    const text = Array.from(
      { length: 40 + seed * 2 },
      (_, at) => words[(at * seed * 7 + (at ^ seed)) % words.length],
    ).join('')
    const first = projectText({ text })
    expect(projectText({ text }).text).toBe(first.text)
    expect(project(bluesky, { text: first.text }).adaptations).toEqual([])
    expect(first.adaptations.length > 0).toBe(first.text !== text)
  }
})

test('the longest text there may be costs little', () => {
  const before = process.memoryUsage().rss
  const { adaptations } = project(bluesky, { text: 'ä'.repeat(100_000) })
  expect(adaptations[0]?.received).toBe(100_000)
  expect(process.memoryUsage().rss - before).toBeLessThan(300_000_000)
})
