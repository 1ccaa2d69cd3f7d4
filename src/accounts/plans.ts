/** What an organisation may use; -1 is unlimited. */
export interface Limits {
  posts_per_month: number
  deliveries_per_month: number
  connections: number
  members: number
  webhook_endpoints: number
  media_bytes: number
  storage_bytes: number
  requests_per_minute: number
}

const MB = 1_000_000
const GB = 1_000 * MB

const limits = (
  posts_per_month: number,
  deliveries_per_month: number,
  connections: number,
  members: number,
  webhook_endpoints: number,
  media_bytes: number,
  storage_bytes: number,
  requests_per_minute: number,
): Limits => ({
  posts_per_month,
  deliveries_per_month,
  connections,
  members,
  webhook_endpoints,
  media_bytes,
  storage_bytes,
  requests_per_minute,
})

/** What a plan may carry beside its limits. */
export const FEATURES = ['api', 'approvals', 'analytics', 'webhooks', 'connect_links', 'platform_apps', 'mcp'] as const
export type Feature = (typeof FEATURES)[number]

export const CURRENCY = 'EUR'

/** One plan as its price list shows it. */
export interface Plan {
  name: string
  summary: string
  /** Cents a month; null is on request. */
  price_minor: number | null
  featured: boolean
  features: readonly Feature[]
  limits: Limits
}

const CREATOR: Feature[] = ['api', 'webhooks', 'mcp', 'analytics']
const TEAM: Feature[] = [...CREATOR, 'approvals', 'connect_links']

/** The one table of plans (decisions.md 3): posts, deliveries, connections, members, endpoints, media, storage, requests per minute. */
const PLANS = {
  free: {
    name: 'Free',
    summary: 'To look around in the console.',
    price_minor: 0,
    featured: false,
    features: [],
    limits: limits(50, 200, 3, 1, 0, 20 * MB, 500 * MB, 60),
  },
  creator: {
    name: 'Creator',
    summary: 'For one person who publishes with the API.',
    price_minor: 1_900,
    featured: false,
    features: CREATOR,
    limits: limits(500, 2_500, 10, 2, 2, 200 * MB, 10 * GB, 120),
  },
  team: {
    name: 'Team',
    summary: 'For a team that reviews before it publishes.',
    price_minor: 5_900,
    featured: true,
    features: TEAM,
    limits: limits(3_000, 15_000, 30, 10, 10, 1 * GB, 100 * GB, 300),
  },
  scale: {
    name: 'Scale',
    summary: 'For products that publish on behalf of many.',
    price_minor: 19_900,
    featured: false,
    features: FEATURES,
    limits: limits(30_000, 150_000, 500, 50, 50, 5 * GB, 1_000 * GB, 600),
  },
  enterprise: {
    name: 'Enterprise',
    summary: 'Without limits, by agreement.',
    price_minor: null,
    featured: false,
    features: FEATURES,
    limits: limits(-1, -1, -1, -1, -1, -1, -1, 3_000),
  },
} as const satisfies Record<string, Plan>

export type PlanCode = keyof typeof PLANS

/** The plans by code, the smallest first. */
export const listPlans = (): [PlanCode, Plan][] => Object.entries(PLANS) as [PlanCode, Plan][]

/** One plan. */
export const planOf = (code: PlanCode): Plan => PLANS[code]

/** The limits of a plan with what was agreed for one organisation merged over them. */
export function limitsOf(plan: PlanCode, override: Partial<Limits>): Limits {
  return { ...PLANS[plan].limits, ...override }
}
