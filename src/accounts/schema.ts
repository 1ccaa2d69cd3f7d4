import type { Limits } from './plans.js'

/** What a key may do (relay.md, Authentication). `admin` implies the others; the others imply nothing. */
export const SCOPES = ['read', 'publish', 'connect', 'admin'] as const

export type Scope = (typeof SCOPES)[number]

/** Who makes a request: a key acts for one organisation. */
export interface Caller {
  organisationId: string
  kind: 'key'
  id: string
  name: string
  scopes: Scope[]
  /** Of the organisation's plan. */
  limits: Limits
  /** The organisation's, for wall clocks that name none. */
  timezone: string
}
