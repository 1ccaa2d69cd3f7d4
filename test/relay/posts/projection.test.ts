import { countGraphemes } from 'unicode-segmenter/grapheme'
import { bluesky } from '../../../src/relay/platforms/bluesky.js'
import type { Platform } from '../../../src/relay/platforms/platform.js'
import { sandbox } from '../../../src/relay/platforms/sandbox.js'
import { resolveContent, type ResolvedContent } from '../../../src/relay/posts/content.js'
import { project } from '../../../src/relay/posts/projection.js'

const family = '👨‍👩‍👧‍👦' // one grapheme, 25 bytes
const link = 'https://example.com/a/path'

/** Takes 40 characters of text and nothing else. */
const plain: Platform = {
  ...bluesky,
  id: 'plain',
  name: 'Plain',
  accepts: { text: { max: 40, unit: 'characters' } },
  count: (text) => text.length,
}

const projectText = (content: ResolvedContent, platform = bluesky) => {
  const { pieces, adaptations, obstacles } = project(platform, content)
  return {
    text: pieces[0]!.text,
    adaptations,
    obstacles,
    codes: adaptations.map(({ code, path }) => `${code} ${path}`),
  }
}

describe('a text', () => {
  test('at both limits stays as it is', () => {
    expect(projectText({ text: 'x'.repeat(300) })).toMatchObject({ text: 'x'.repeat(300), adaptations: [] })
    expect(projectText({ text: family.repeat(120) }).adaptations).toEqual([]) // 3,000 bytes
  })

  test('of 301 graphemes ends in an ellipsis at 300, with a warning that counts them', () => {
    const { text, adaptations } = projectText({ text: 'é'.normalize('NFD').repeat(301) })
    expect([countGraphemes(text), text.endsWith('…')]).toEqual([300, true])
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

  test('of 3,001 bytes is cut at the border of a grapheme', () => {
    const projected = projectText({ text: `${family.repeat(120)}x` })
    expect(projected.adaptations).toMatchObject([{ limit: 3_000, received: 3_001, unit: 'bytes' }])
    expect(projected.text).toBe(`${family.repeat(119)}…`)
  })

  test('is cut between words, and inside one only where it is half of the text', () => {
    expect(projectText({ text: `${'a'.repeat(30)} https://example.com/long` }, plain).text).toBe(`${'a'.repeat(30)}…`)
    expect(projectText({ text: `short ${'a'.repeat(60)}` }, plain).text).toBe(`short ${'a'.repeat(33)}…`)
  })

  test('that is cut behind an address keeps the ellipsis apart from it', () => {
    const { text } = projectText({ text: `${'a'.repeat(8)} https://example.com/x ${'b'.repeat(40)}` }, plain)
    expect(text).toBe(`${'a'.repeat(8)} https://example.com/x …`)
  })

  test('of the greatest length costs little', () => {
    const before = process.memoryUsage().rss
    expect(projectText({ text: 'ä'.repeat(100_000) }).adaptations[0]?.received).toBe(100_000)
    expect(process.memoryUsage().rss - before).toBeLessThan(300_000_000)
  })
})

describe('link and tags of a platform without fields for them', () => {
  test('stand under the text, each once', () => {
    expect(projectText({ text: 'Hi', link, tags: ['one', 'two words', 'ÄÖ_1'] }).text).toBe(
      `Hi\n\n${link}\n\n#one #twowords #ÄÖ_1`,
    )
    expect(projectText({ text: `See ${link} #One`, link, tags: ['one'] })).toMatchObject({
      text: `See ${link} #One`,
      codes: [],
    })
    expect(projectText({ link }).text).toBe(link)
  })

  test('an address that another one begins with is added all the same', () => {
    const longer = 'see https://example.com/docs (https://example.com/more).'
    expect(projectText({ text: longer, link: 'https://example.com' }).text).toBe(`${longer}\n\nhttps://example.com`)
    expect(projectText({ text: longer, link: 'https://example.com/more' }).text).toBe(longer)
  })

  test('give way in the order of what matters least: tags, the end of the text, the link last of all', () => {
    expect(projectText({ text: 'hello', link, tags: ['abcdefg'] }, plain)).toMatchObject({
      text: `hello\n\n${link}`,
      codes: ['tags_dropped content.tags'],
    })
    expect(projectText({ text: 'hello there everybody', link }, plain)).toMatchObject({
      text: `hello there…\n\n${link}`,
      codes: ['text_truncated content.text'],
    })
    expect(projectText({ text: 'hello', link: `${link}${'x'.repeat(30)}` }, plain)).toMatchObject({
      text: 'hello',
      codes: ['link_dropped content.link'],
    })
  })

  test('a link at the end of a text that is cut is kept', () => {
    expect(projectText({ text: `hello there everybody ${link}`, link }, plain).text).toBe(`hello there…\n\n${link}`)
  })

  test('a tag without a letter is dropped and named', () => {
    expect(projectText({ text: 'x', tags: ['2026', '!'] })).toMatchObject({
      text: 'x',
      codes: ['tags_dropped content.tags'],
    })
  })
})

describe('a title', () => {
  test('is dropped with a warning where there are none, and kept whole or cut where there are', () => {
    expect(projectText({ text: 'x', title: 'T' })).toMatchObject({ text: 'x', codes: ['title_dropped content.title'] })
    const box = sandbox('http://x')
    expect(project(box, { title: 'T' }).pieces).toMatchObject([{ title: 'T', text: '' }])
    const short: Platform = { ...box, accepts: { ...box.accepts, title: { max: 5, unit: 'characters' } } }
    expect(project(short, { title: 'Too long', text: 'x' })).toMatchObject({
      pieces: [{ title: 'Too…' }],
      adaptations: [{ code: 'text_truncated', path: 'content.title', limit: 5, received: 8 }],
    })
  })

  test('alone is nothing that a platform without titles could take', () => {
    expect(projectText({ title: 'T' }).obstacles).toMatchObject([{ code: 'unsupported_capability', path: 'content' }])
  })
})

describe('a thread', () => {
  const content = { text: 'one', parts: [{ text: 'two' }, { text: 'x'.repeat(301) }], first_comment: { text: 'four' } }

  test('is a piece per part, the comment last, each fitted by itself', () => {
    const { pieces, adaptations } = project(bluesky, content)
    expect(pieces.map(({ kind, text }) => `${kind} ${text.slice(0, 5)}`)).toEqual([
      'post one',
      'part two',
      'part xxxxx',
      'comment four',
    ])
    expect(adaptations).toMatchObject([{ code: 'text_truncated', path: 'content.parts.1.text' }])
  })

  test('is joined into one post where there are none, and the comment with it, both with a warning', () => {
    const joined = projectText(
      { ...content, parts: [{ text: 'two' }, { title: 'Three', link }] },
      { ...plain, accepts: { text: { max: 90, unit: 'characters' } } },
    )
    expect(joined).toMatchObject({
      text: `one\n\ntwo\n\nThree\n\nfour\n\n${link}`,
      codes: ['parts_joined content.parts', 'parts_joined content.first_comment'],
    })
  })
})

test('settings are the platform’s own: unknown ones and those of a platform without any are obstacles', () => {
  expect(project(bluesky, { text: 'x', settings: { langs: ['de'] } })).toMatchObject({
    settings: { langs: ['de'] },
    obstacles: [],
  })
  expect(project(bluesky, { text: 'x', settings: { langs: ['not a tag'] } }).obstacles).toMatchObject([
    { path: 'settings.langs.0' },
  ])
  expect(project(sandbox('http://x'), { text: 'x', settings: { a: 1 } }).obstacles).toMatchObject([
    { path: 'settings' },
  ])
})

test('each override replaces keys of what came before it, and null takes one away', () => {
  expect(
    resolveContent({ text: 'a', title: 'b', tags: ['c'] }, [
      { text: 'd', title: null },
      null,
      { tags: ['e'], title: 'f' },
    ]),
  ).toEqual({ text: 'd', title: 'f', tags: ['e'] })
})
