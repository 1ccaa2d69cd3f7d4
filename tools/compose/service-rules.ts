import type { Service, Subject } from './subject.js'

/** The breaches of one rule, a sentence each. Empty: it holds. */
export type Rule = (subject: Subject) => string[]

/** Runs `judge` on every service; false and null are no breach. */
function eachService(judge: (service: Service, name: string, subject: Subject) => string | false): Rule {
  return (subject) =>
    Object.entries(subject.services).flatMap(([name, service]) => {
      const breach = judge(service, name, subject)
      return breach === false ? [] : `${name} ${breach}`
    })
}

const staysUp = ({ restart }: Service) => restart === 'unless-stopped'
const isJob = ({ restart = '' }: Service) => restart.startsWith('on-failure')
const isAsked = ({ profiles = [] }: Service) => profiles.length > 0

/** Of the image that this project builds. */
const isOurs = ({ image }: Service) => image === 'relay-and-sign'

function hasHealthCheck(service: Service, { dockerfile }: Subject): boolean {
  if (service.healthcheck?.disable) return false
  return Boolean(service.healthcheck?.test) || (isOurs(service) && /^HEALTHCHECK /m.test(dockerfile))
}

export const restarts = eachService(
  (service) =>
    !staysUp(service) && !isJob(service) && !isAsked(service) && 'does not say whether it stays up or is a job',
)

export const healthChecks = eachService(
  (service, _name, subject) => staysUp(service) && !hasHealthCheck(service, subject) && 'has no health check',
)

export const logs = eachService(({ logging }) => !logging?.options?.['max-size'] && 'lets its log grow without end')

export const images = eachService((service) => {
  const { image = '', pull_policy: policy } = service
  if (image.includes('auto-setup')) return 'sets itself up, which is not for production'
  if (isOurs(service))
    return policy === 'never' || policy === 'build' ? false : 'would look for our image in a registry'
  return !/:[\w.-]+$/.test(image) || image.endsWith(':latest') ? 'is not pinned to a version' : false
})

/** Compose builds services side by side, and one tag that two of them make at once fails. */
export const builds: Rule = ({ services }) => {
  const building = Object.entries(services).filter(([, { build }]) => build !== undefined)
  return building.length === 1 ? [] : [`our image is built by ${building.length} services`]
}

export const published = eachService(
  ({ ports = [] }, name) =>
    name !== 'api' && !ports.every((port) => port.startsWith('127.0.0.1:')) && 'is published beyond loopback',
)

/** `docker compose up --scale worker=2`. */
export const scaling = eachService(
  ({ container_name: fixed, ports = [] }, name) =>
    (fixed !== undefined || (name === 'worker' && ports.length > 0)) && 'has a name or port that only one can have',
)

export const waits: Rule = (subject) =>
  Object.entries(subject.services).flatMap(([name, { depends_on: awaited = {} }]) =>
    Object.entries(awaited).flatMap(([other, { condition }]) => {
      const service = subject.services[other]
      if (!service) return `${name} waits for ${other}, which is no service`
      if (condition === 'service_healthy' && !hasHealthCheck(service, subject))
        return `${name} waits for the health of ${other}, which has no check`
      if ((condition === 'service_completed_successfully') !== isJob(service))
        return `${name} waits for ${other} as for ${isJob(service) ? 'a service that stays up' : 'a job'}`
      return []
    }),
  )

/** Otherwise `docker compose up --wait` takes the end of a job for a failure. */
export const jobs: Rule = ({ services }) => {
  const awaited = new Set(Object.values(services).flatMap(({ depends_on: on = {} }) => Object.keys(on)))
  return Object.entries(services).flatMap(([name, service]) =>
    isJob(service) && !awaited.has(name) ? `${name} is a job that nothing waits for` : [],
  )
}
