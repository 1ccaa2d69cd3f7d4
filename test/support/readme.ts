import { readFile } from 'node:fs/promises'

/** The first block of this language in the README below the heading. */
export async function readExample(heading: string, language: string): Promise<string> {
  const text = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const below = text.slice(text.indexOf(`\n## ${heading}\n`))
  const [, block] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(below) ?? []
  if (!block) throw new Error(`README.md has no ${language} below "${heading}"`)
  return block
}
