import { readFile, stat } from 'node:fs/promises'
import { findCommand } from '../src/ops/commands.js'

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8')

test('every test that the coverage of the specification names exists', async () => {
  const page = await read('docs/spec-coverage/relay.md')
  const named = [...page.matchAll(/\]\(\.\.\/\.\.\/(test\/[^)]+)\): “([^”]+)”/g)]
  expect(named.length).toBeGreaterThan(100)
  const missing: string[] = []
  for (const [, path = '', name = ''] of named) {
    const text = await read(path).catch(() => '')
    if (!text.includes(`'${name}'`)) missing.push(`${path}: ${name}`)
  }
  expect(missing).toEqual([])
})

test('a table row of the coverage says what shows it, or that it comes later', async () => {
  const rows = (await read('docs/spec-coverage/relay.md')).split('\n').filter((line) => line.startsWith('| '))
  const bare = rows.filter(
    (row) => !/\]\(\.\.\/\.\.\/test|later: |no behaviour to test|shown by +\||^\| -+ \|/.test(row),
  )
  expect(bare).toEqual([])
})

const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...['guide', 'containers', 'configuration'].map((name) => `docs/operating/${name}.md`),
]

test.each(PAGES)('%s: every file it links to is there', async (page) => {
  const links = [...(await read(page)).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link)
  for (const link of links) {
    const target = new URL(link, new URL(`../${page}`, import.meta.url))
    expect([link, (await stat(target).catch(() => null)) !== null]).toEqual([link, true])
  }
})

test.each(PAGES)('%s: every command and script that it names exists', async (page) => {
  const text = await read(page)
  const commands = [...text.matchAll(/(?:npm run ops -- |compose run --rm ops )((?:[a-z-]+ ?)+)/g)].map(
    ([, words = '']) => words,
  )
  for (const words of commands)
    if (!['COMMAND', 'help'].includes(words.trim()))
      expect([words, findCommand(words.split(' ')) !== null]).toEqual([words, true])
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> }
  for (const [, script = ''] of text.matchAll(/npm run ([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(script)
})
