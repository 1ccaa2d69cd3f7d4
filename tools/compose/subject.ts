import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv, promisify } from 'node:util'
import { parseDocument } from 'yaml'
import { findVariables, interpolate, type Variable } from './variables.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What the rules read of a service. */
export interface Service {
  image?: string
  build?: unknown
  pull_policy?: string
  restart?: string
  container_name?: string
  profiles?: string[]
  environment?: Record<string, string | number | null>
  healthcheck?: { test?: string[]; disable?: boolean }
  depends_on?: Record<string, { condition: string }>
  ports?: string[]
  networks?: string[]
  volumes?: string[]
  logging?: { options?: Record<string, string> }
}

/** What is judged: the compose file as Compose reads it, and what it stands on. */
export interface Subject {
  services: Record<string, Service>
  networks: string[]
  volumes: string[]
  variables: Variable[]
  /** What tools/make-env.sh writes. */
  settings: NodeJS.ProcessEnv
  dockerfile: string
  /** Of a path beside the compose file. */
  exists(path: string): boolean
}

/** The project's own files, and a .env that tools/make-env.sh made in a folder of its own. */
export async function readProject(): Promise<{ text: string; settings: NodeJS.ProcessEnv; dockerfile: string }> {
  const [text, dockerfile, settings] = await Promise.all([
    readFile(join(root, 'docker-compose.yml'), 'utf8'),
    readFile(join(root, 'Dockerfile'), 'utf8'),
    makeSettings(),
  ])
  return { text, settings, dockerfile }
}

async function makeSettings(): Promise<NodeJS.ProcessEnv> {
  const folder = await mkdtemp(join(tmpdir(), 'relay-settings-'))
  try {
    await mkdir(join(folder, 'tools'))
    await cp(join(root, 'tools/make-env.sh'), join(folder, 'tools/make-env.sh'))
    await promisify(execFile)('sh', ['tools/make-env.sh'], { cwd: folder })
    return parseEnv(await readFile(join(folder, '.env'), 'utf8'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The compose file with its anchors and variables resolved. Throws what is wrong with its YAML. */
export function resolveCompose(text: string, settings: NodeJS.ProcessEnv) {
  // `<<` merge keys are part of the Compose format, though no longer of YAML.
  const document = parseDocument(text, { merge: true })
  if (document.errors.length > 0) throw new Error(document.errors.map(({ message }) => message).join('\n'))
  type Compose = Pick<Subject, 'services'> & { networks?: object; volumes?: object }
  return interpolate(document.toJS() as Compose, settings)
}

export function subjectOf({ text, settings, dockerfile }: Awaited<ReturnType<typeof readProject>>): Subject {
  const { services, networks = {}, volumes = {} } = resolveCompose(text, settings)
  return {
    services,
    networks: Object.keys(networks),
    volumes: Object.keys(volumes),
    variables: findVariables(text),
    settings,
    dockerfile,
    exists: (path) => existsSync(join(root, path)),
  }
}
