import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const readHere = (name: string): Promise<string> => readFile(new URL(name, import.meta.url), 'utf8')

/** What the Compose Specification's schema says against a compose file, one line per error with its path. Empty: nothing. */
export async function findSchemaErrors(compose: unknown): Promise<string[]> {
  const schema = JSON.parse(await readHere('./compose-spec.json')) as object
  const ajv = new Ajv2020({ allErrors: true, strict: false })
  formats.default(ajv)
  const validate = ajv.compile(schema)
  if (validate(compose)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath || '/'}: ${message} ${JSON.stringify(params)}`,
  )
}

/** Of the schema, as its README says. */
export async function readSchemaVersion(): Promise<string | undefined> {
  return /version (v[\d.]+)/.exec(await readHere('./README.md'))?.[1]
}
