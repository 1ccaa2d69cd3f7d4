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

/** The one table of plans (decisions.md 3): posts, deliveries, connections, members, endpoints, media, storage, requests per minute. */
const PLANS = {
  free: limits(50, 200, 3, 1, 0, 20 * MB, 500 * MB, 60),
  creator: limits(500, 2_500, 10, 2, 2, 200 * MB, 10 * GB, 120),
  team: limits(3_000, 15_000, 30, 10, 10, 1 * GB, 100 * GB, 300),
  scale: limits(30_000, 150_000, 500, 50, 50, 5 * GB, 1_000 * GB, 600),
  enterprise: limits(-1, -1, -1, -1, -1, -1, -1, 3_000),
} as const satisfies Record<string, Limits>

export type PlanCode = keyof typeof PLANS

/** The limits of a plan with what was agreed for one organisation merged over them. */
export function limitsOf(plan: PlanCode, override: Partial<Limits>): Limits {
  return { ...PLANS[plan], ...override }
}

/** Of whoever has no organisation. */
export const NO_LIMITS = PLANS.enterprise
