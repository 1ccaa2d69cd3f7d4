import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { parseDocument } from 'yaml'

const readHere = (name: string): Promise<string> => readFile(new URL(name, import.meta.url), 'utf8')

/** What is wrong with a compose file, one line per error with its path. Empty: nothing. */
async function findComposeErrors(text: string): Promise<string[]> {
  // `<<` merge keys are part of the Compose format, though no longer of YAML.
  const document = parseDocument(text, { merge: true })
  if (document.errors.length > 0) return document.errors.map(({ message }) => message)

  const schema = JSON.parse(await readHere('./compose-spec.json')) as object
  const ajv = new Ajv2020({ allErrors: true, strict: false })
  formats.default(ajv)
  const validate = ajv.compile(schema)
  if (validate(document.toJS())) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath || '/'}: ${message} ${JSON.stringify(params)}`,
  )
}

const version = /version (v[\d.]+)/.exec(await readHere('./README.md'))?.[1]
const errors = await findComposeErrors(await readFile(new URL('../../docker-compose.yml', import.meta.url), 'utf8'))
if (errors.length === 0) {
  console.log(`docker-compose.yml: valid against the Compose specification schema (${version})`)
} else {
  for (const error of errors) console.error(`docker-compose.yml: ${error}`)
  process.exitCode = 1
}
