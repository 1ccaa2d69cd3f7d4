/** What webhooks can tell (relay.md, Events). */
export const EVENT_TYPES = [
  'post.created',
  'post.published',
  'post.partial',
  'post.failed',
  'delivery.succeeded',
  'delivery.failed',
  'connection.reauth_required',
  'connection.revoked',
] as const

export type EventType = (typeof EVENT_TYPES)[number]
