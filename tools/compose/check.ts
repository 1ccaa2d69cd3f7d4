import { findBreaches } from './rules.js'
import { findSchemaErrors, readSchemaVersion } from './schema.js'
import { readProject, resolveCompose, subjectOf } from './subject.js'

async function findErrors(): Promise<string[]> {
  const project = await readProject()
  const errors = await findSchemaErrors(resolveCompose(project.text, project.settings))
  // A file of another shape is nothing the rules could read.
  return errors.length > 0 ? errors : findBreaches(subjectOf(project))
}

const errors = await findErrors().catch((error: Error) => [error.message])
if (errors.length === 0) {
  const version = await readSchemaVersion()
  console.log(`docker-compose.yml: valid against the Compose specification schema (${version}), and by our own rules`)
} else {
  for (const error of errors) console.error(`docker-compose.yml: ${error}`)
  process.exitCode = 1
}
