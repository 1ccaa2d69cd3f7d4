import * as references from './reference-rules.js'
import * as services from './service-rules.js'
import type { Rule } from './service-rules.js'
import type { Subject } from './subject.js'

export const RULES: Rule[] = [
  services.restarts,
  services.healthChecks,
  services.logs,
  services.images,
  services.builds,
  services.published,
  services.scaling,
  services.waits,
  services.jobs,
  references.networks,
  references.volumes,
  references.files,
  references.settings,
  references.complaints,
  references.oneSentence,
  references.secrets,
]

/** What docker-compose.yml does against our own rules, a sentence each. Empty: nothing. */
export function findBreaches(subject: Subject): string[] {
  return RULES.flatMap((rule) => rule(subject))
}
