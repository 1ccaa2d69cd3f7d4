import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { z } from 'zod'
import { Environment, GROUPS, type VariableFacts } from '../src/environment.js'

const page = fileURLToPath(new URL('../docs/operating/configuration.md', import.meta.url))

type Described = VariableFacts & { default?: unknown; enum?: string[] }

/** The reference of every variable, as Markdown, from the schema that reads them. */
export async function describeConfiguration(): Promise<string> {
  const schema = z.toJSONSchema(Environment, { io: 'input', unrepresentable: 'any' })
  const variables = Object.entries(schema.properties ?? {}) as unknown as [string, Described][]
  const required = new Set(schema.required)
  const groups = GROUPS.map((group) => {
    const rows = variables.filter(([, facts]) => facts.group === group)
    const lines = rows.map(
      ([name, facts]) => `| \`${name}\` | ${shownDefault(facts, required.has(name))} | ${describe(facts)} |`,
    )
    return [`## ${group}`, '', '| variable | default | |', '| --- | --- | --- |', ...lines].join('\n')
  })
  const text = `<!-- Made by \`npm run configuration\` from src/environment.ts; a test holds both together. -->

# Configuration

Every process reads the same environment: \`api\`, \`worker\`, \`migrate\` and the operator's commands. An empty variable counts as not set. One that is
missing or wrong stops the start, with one sentence that names every such variable. No value is ever printed.

${groups.join('\n\n')}
`
  return format(text, { ...(await resolveConfig(page)), parser: 'markdown' })
}

function shownDefault({ default: value }: Described, required: boolean): string {
  if (required) return '**needed**'
  if (value === undefined || value === '') return ''
  return String(value).startsWith('dev-only') ? "development's own" : `\`${String(value)}\``
}

function describe({ description, production, enum: values }: Described): string {
  const choices = values ? ` One of ${values.map((value) => `\`${value}\``).join(', ')}.` : ''
  return `${description}${choices}${production ? ` **In production:** ${production}.` : ''}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(page, await describeConfiguration())
  process.stdout.write(`Wrote ${page}\n`)
}

/** The page as it stands. */
export function readConfigurationPage(): Promise<string> {
  return readFile(page, 'utf8')
}
