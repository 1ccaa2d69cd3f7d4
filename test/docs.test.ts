import { readFile } from 'node:fs/promises'

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
