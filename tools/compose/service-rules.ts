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

function hasHealthCheck(service: Service, { dockerfile }: Subject): boolean {
  if (service.healthcheck?.disable) return false
  return Boolean(service.healthcheck?.test) || (service.build !== undefined && /^HEALTHCHECK /m.test(dockerfile))
}

export const restarts = eachService(
  (service) =>
    !staysUp(service) && !isJob(service) && !isAsked(service) && 'does not say whether it stays up or is a job',
)

export const healthChecks = eachService(
  (service, _name, subject) => staysUp(service) && !hasHealthCheck(service, subject) && 'has no health check',
)

export const logs = eachService(({ logging }) => !logging?.options?.['max-size'] && 'lets its log grow without end')

export const images = eachService(({ image = '', build }) => {
  if (image.includes('auto-setup')) return 'sets itself up, which is not for production'
  if (build !== undefined) return false
  return !/:[\w.-]+$/.test(image) || image.endsWith(':latest') ? 'is not pinned to a version' : false
})

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
