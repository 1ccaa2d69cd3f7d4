import type { Rule } from './service-rules.js'
import type { Service } from './subject.js'

const SECRET = /PASSWORD|PWD|PEPPER|SECRET|KEY/

/** `named` are what services mention: each is declared, and each that is declared is mentioned. */
function match(kind: string, declared: string[], named: string[]): string[] {
  return [
    ...[...new Set(named)].filter((name) => !declared.includes(name)).map((name) => `${kind} ${name} is not declared`),
    ...declared.filter((name) => !named.includes(name)).map((name) => `${kind} ${name} is not used`),
  ]
}

const sources = (service: Service) => (service.volumes ?? []).map((volume) => volume.split(':')[0] ?? '')
const isPath = (source: string) => /^[./~]/.test(source)

export const networks: Rule = (subject) =>
  match(
    'network',
    subject.networks,
    Object.values(subject.services).flatMap((service) => service.networks ?? ['default']),
  )

export const volumes: Rule = (subject) =>
  match(
    'volume',
    subject.volumes,
    Object.values(subject.services)
      .flatMap(sources)
      .filter((source) => !isPath(source)),
  )

export const files: Rule = ({ services, exists }) =>
  Object.values(services)
    .flatMap(sources)
    .filter((source) => isPath(source) && !exists(source))
    .map((source) => `${source} is mounted and does not exist`)

/** What tools/make-env.sh writes is what the file asks for. */
export const settings: Rule = ({ variables, settings }) =>
  match(
    'in .env,',
    Object.keys(settings),
    variables.filter(({ fallback }) => fallback === undefined).map(({ name }) => name),
  )

/** Without .env, Compose says what to do. */
export const complaints: Rule = ({ variables }) =>
  variables
    .filter(({ fallback, complaint }) => fallback === undefined && !complaint?.includes('tools/make-env.sh'))
    .map(({ name }) => `${name} does not say what to do when it is not set`)

/** Compose reads its own name before all else; any other variable is asked for, and complained of, once for each service. */
export const oneSentence: Rule = ({ variables }) =>
  variables[0]?.name === 'COMPOSE_PROJECT_NAME' ? [] : ['the name does not come from .env, so that Compose stops there']

export const secrets: Rule = ({ services, settings }) => {
  const made = Object.values(settings)
  return Object.entries(services).flatMap(([service, { environment = {} }]) =>
    Object.entries(environment)
      .filter(([name, value]) => !['', ...made].includes(secretOf(name, String(value))))
      .map(([name]) => `${service} has the secret of ${name} in the file`),
  )
}

function secretOf(name: string, value: string): string {
  if (SECRET.test(name)) return value
  return URL.canParse(value) ? new URL(value).password : ''
}
