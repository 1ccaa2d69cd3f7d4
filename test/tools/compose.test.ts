import { findBreaches, RULES } from '../../tools/compose/rules.js'
import { findSchemaErrors } from '../../tools/compose/schema.js'
import { readProject, resolveCompose, subjectOf } from '../../tools/compose/subject.js'
import { findVariables, interpolate } from '../../tools/compose/variables.js'

const project = await readProject()
type Project = typeof project

const inFile =
  (from: string | RegExp, to: string) =>
  (ours: Project): Project => {
    const text = ours.text.replace(from, to)
    if (text === ours.text) throw new Error(`docker-compose.yml has no ${from} any more`)
    return { ...ours, text }
  }

const set =
  (name: string, value: string | undefined) =>
  ({ settings, ...ours }: Project): Project => {
    const { [name]: _, ...others } = settings
    return { ...ours, settings: value === undefined ? others : { ...others, [name]: value } }
  }

/** What is broken, how, and what is said of it. */
const BROKEN: [string, (ours: Project) => Project, string][] = [
  ['a service without a restart policy', inFile('  restart: unless-stopped\n', ''), 's3 does not say whether'],
  ['a check taken away', inFile(/ {4}healthcheck:\n.*127.0.0.1:7070\/health.*\n( {6}.*\n)+/, ''), 's3 has no health'],
  ['a check switched off', inFile(/(test: .*7070.*)/, '$1\n      disable: true'), 's3 has no health check'],
  ['an image without a check', (ours) => ({ ...ours, dockerfile: 'FROM node' }), 'worker has no health check'],
  ['a log without end', inFile('max-size: 10m, ', ''), 'postgres lets its log grow without end'],
  ['the latest image', inFile('postgres:18', 'postgres:latest'), 'postgres is not pinned to a version'],
  ['an image without a tag', inFile('versitygw:v1.8.0', 'versitygw'), 's3 is not pinned to a version'],
  ['an image of a registry with a port', inFile('versity/versitygw:v1.8.0', 'host:5000/s3'), 's3 is not pinned'],
  ['the image that sets itself up', inFile('temporalio/server:', 'temporalio/auto-setup:'), 'temporal sets itself up'],
  [
    'an image of ours from a registry',
    inFile('  pull_policy: never\n', ''),
    'api would look for our image in a registry',
  ],
  ['two that build it', inFile('  worker:\n', '  worker:\n    build: .\n'), 'our image is built by 2 services'],
  ['a port for everybody', inFile('127.0.0.1:8233:', '8233:'), 'temporal-ui is published beyond loopback'],
  ['a port of every address', inFile('127.0.0.1:8233:', '0.0.0.0:8233:'), 'temporal-ui is published beyond'],
  ['a name of its own', inFile('  worker:\n', '  worker:\n    container_name: w\n'), 'worker has a name or port'],
  ['a port of the worker', inFile('  worker:\n', "  worker:\n    ports: ['127.0.0.1:9:9']\n"), 'worker has a name or'],
  [
    'a wait for nobody',
    inFile('migrate: { cond', 'migrations: { cond'),
    'api waits for migrations, which is no service',
  ],
  [
    'a wait for health that nobody looks at',
    inFile('migrate: { condition: service_completed_successfully }', 'migrate: { condition: service_healthy }'),
    'worker waits for the health of migrate, which has no check',
  ],
  [
    'a wait for the end of what stays up',
    inFile('temporal: { condition: service_healthy }', 'temporal: { condition: service_completed_successfully }'),
    'temporal-ui waits for temporal as for a job',
  ],
  [
    'a wait for the start of a job',
    inFile(
      'temporal-setup: { condition: service_completed_successfully }',
      'temporal-setup: { condition: service_started }',
    ),
    'api waits for temporal-setup as for a service that stays up',
  ],
  ['a job nobody waits for', inFile(/ +storage-setup: { .*\n/, ''), 'storage-setup is a job that nothing waits for'],
  ['a network nobody declared', inFile('[inside, outside]', '[inside, away]'), 'network away is not declared'],
  ['a network nobody named', inFile('  outside: {}', '  outside: {}\n  spare: {}'), 'network spare is not used'],
  [
    'the network that nobody named',
    inFile('    networks: [inside]\n    volumes', '    volumes'),
    'network default is not',
  ],
  ['a volume nobody declared', inFile('postgres:/var', 'data:/var'), 'volume data is not declared'],
  ['a volume nobody uses', inFile('  s3-metadata:\n', '  s3-metadata:\n  spare:\n'), 'volume spare is not used'],
  [
    'a file that is not there',
    inFile('./tools/compose/databases.sql', './databases.sql'),
    './databases.sql is mounted',
  ],
  ['a setting that is not made', set('KEY_PEPPER', undefined), 'in .env, KEY_PEPPER is not declared'],
  ['a setting nobody asks for', set('SPARE', 'x'), 'in .env, SPARE is not used'],
  ['a variable without braces', inFile('${PORT:-8080}', '$PORT'), 'in .env, PORT is not declared'],
  [
    'a variable without a sentence',
    inFile(/\$\{KEY_PEPPER:\?[^}]*\}/, '${KEY_PEPPER}'),
    'KEY_PEPPER does not say what',
  ],
  ['a name that is always there', inFile(/^name: .*$/m, 'name: relay-and-sign'), 'the name does not come from .env'],
  [
    'a secret in the file',
    inFile(/\$\{KEY_PEPPER:\?[^}]*\}/, 'pepper'),
    'api has the secret of KEY_PEPPER in the file',
  ],
  ['a secret in a URL', inFile(/relay:\$\{[^}]*\}@/, 'relay:relay@'), 'api has the secret of DATABASE_URL in the file'],
]

test('docker-compose.yml is valid and keeps every rule', async () => {
  expect(await findSchemaErrors(resolveCompose(project.text, project.settings))).toEqual([])
  expect(findBreaches(subjectOf(project))).toEqual([])
})

test.each(BROKEN)('%s is noticed', (_what, change, says) => {
  expect(findBreaches(subjectOf(change(project)))).toContainEqual(expect.stringContaining(says))
})

test('no rule is without an example that breaks it', () => {
  const broken = BROKEN.map(([, change]) => subjectOf(change(project)))
  for (const rule of RULES) expect(broken.some((subject) => rule(subject).length > 0)).toBe(true)
})

test('what the specification does not know is noticed', async () => {
  const { text, settings } = inFile('stop_grace_period: 60s', 'stop_grace_time: 50s')(project)
  expect(await findSchemaErrors(resolveCompose(text, settings))).toEqual([expect.stringContaining('stop_grace_time')])
})

test('a file that is no YAML is said to be none', () => {
  expect(() => resolveCompose('services: [', {})).toThrow(/line 1/)
})

test('variables are read as Compose reads them', () => {
  const text = 'a: ${A:?Say it.} # ${NO}\nb: ${B:-eight}$$ $C'
  expect(findVariables(text)).toEqual([
    { name: 'A', complaint: 'Say it.' },
    { name: 'B', fallback: 'eight' },
    { name: 'C' },
  ])
  expect(interpolate(['${A:?Say it.}', '${B:-eight}', '$$B', '$C', 8], { A: 'a', B: '' })).toEqual([
    'a',
    'eight',
    '$B',
    '',
    8,
  ])
})
