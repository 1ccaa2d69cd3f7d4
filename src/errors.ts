/** What a caller or a delivery does about a code.
 *  never: it is final · backoff: try again later, up to the budget · refresh: renew the token once · defer: wait until it lifts. */
export type Retry = 'never' | 'backoff' | 'refresh' | 'defer'

interface ErrorKind {
  http: number
  retry: Retry
  /** The status of a delivery that ends with this code. */
  settles: 'failed' | 'rejected'
  /** What to do about it; `error.next_step` of a delivery. */
  nextStep: string
}

const askUs = 'Try again; if it stays, report it with the x-request-id of the answer.'

/** The one table of codes (relay.md, Errors): HTTP status, delivery retry, final status and documents are read from it. */
export const ERRORS = {
  validation_failed: {
    http: 422,
    retry: 'never',
    settles: 'rejected',
    nextStep: 'Change what details.fields names and send it again.',
  },
  unauthorized: {
    http: 401,
    retry: 'never',
    settles: 'failed',
    nextStep: 'Send a valid API key as `Authorization: Bearer <key>`.',
  },
  insufficient_scope: {
    http: 403,
    retry: 'never',
    settles: 'failed',
    nextStep: 'Use a key with the scope that details.scope names.',
  },
  not_found: {
    http: 404,
    retry: 'never',
    settles: 'failed',
    nextStep: 'Check the id; only your own organisation is visible.',
  },
  method_not_allowed: { http: 405, retry: 'never', settles: 'failed', nextStep: 'Use a method of the Allow header.' },
  idempotency_conflict: {
    http: 409,
    retry: 'never',
    settles: 'failed',
    nextStep: 'Use a new Idempotency-Key for a different request.',
  },
  rate_limited: { http: 429, retry: 'backoff', settles: 'failed', nextStep: 'Wait as long as Retry-After says.' },
  quota_exceeded: { http: 429, retry: 'never', settles: 'failed', nextStep: 'Wait for the reset or change the plan.' },
  payment_required: {
    http: 402,
    retry: 'never',
    settles: 'failed',
    nextStep: 'Choose a plan that carries the feature.',
  },
  auth_expired: {
    http: 401,
    retry: 'refresh',
    settles: 'failed',
    nextStep: 'Reconnect the account, then retry the delivery.',
  },
  auth_revoked: {
    http: 401,
    retry: 'never',
    settles: 'failed',
    nextStep: 'Reconnect the account, then retry the delivery.',
  },
  connection_unavailable: {
    http: 409,
    retry: 'never',
    settles: 'failed',
    nextStep: 'Reconnect the account or choose another destination.',
  },
  content_rejected: {
    http: 422,
    retry: 'never',
    settles: 'rejected',
    nextStep: 'Change the content and post it anew.',
  },
  media_rejected: {
    http: 422,
    retry: 'never',
    settles: 'rejected',
    nextStep: 'Change the attachment and post it anew.',
  },
  unsupported_capability: {
    http: 422,
    retry: 'never',
    settles: 'rejected',
    nextStep: 'Leave out what the destination cannot take.',
  },
  duplicate_content: {
    http: 409,
    retry: 'never',
    settles: 'rejected',
    nextStep: 'The platform has this content already; change it.',
  },
  publish_indeterminate: {
    http: 409,
    retry: 'never',
    settles: 'failed',
    nextStep: 'Look at the account: retry only if the post is not there.',
  },
  publishing_paused: {
    http: 503,
    retry: 'defer',
    settles: 'failed',
    nextStep: 'Nothing: it goes out when the pause lifts.',
  },
  platform_unavailable: {
    http: 503,
    retry: 'backoff',
    settles: 'failed',
    nextStep: 'Retry the delivery when the platform answers again.',
  },
  platform_error: {
    http: 502,
    retry: 'backoff',
    settles: 'failed',
    nextStep: 'Retry the delivery; platform_message says what the platform said.',
  },
  internal_error: { http: 500, retry: 'backoff', settles: 'failed', nextStep: askUs },
  service_unavailable: { http: 503, retry: 'backoff', settles: 'failed', nextStep: 'Try again in a few seconds.' },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof ERRORS

/** Throw this wherever a request or a delivery cannot go on; `details` always says what to fix. */
export class AppError extends Error {
  override readonly name = 'AppError'

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message)
  }
}

/** A field that is wrong, as `details.fields` of validation_failed lists it. */
export interface FieldProblem {
  path: string
  message: string
  limit?: number
  received?: number
  connection_id?: string
  platform?: string
}

/** 422 validation_failed that names each field. */
export function invalid(fields: FieldProblem[], reason?: string, more: Record<string, unknown> = {}): AppError {
  const message = fields.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
  return new AppError('validation_failed', message, { ...(reason && { reason }), fields, ...more })
}

/** 422 for an action that a state does not allow, with what it does allow (shapes.md 1, Errors). */
export function invalidState(message: string, status: string, allowedActions: readonly string[]): AppError {
  return invalid([{ path: '', message }], 'invalid_state', { status, allowed_actions: allowedActions, see: null })
}

/** A problem with a platform or a connection to it; `details` as shapes.md 1 has them for platform codes. */
export function platformProblem(
  code: ErrorCode,
  message: string,
  {
    platform,
    connectionId = null,
    platformMessage = null,
    ...more
  }: { platform: string; connectionId?: string | null; platformMessage?: string | null } & Record<string, unknown>,
): AppError {
  const { nextStep } = ERRORS[code]
  return new AppError(code, message, {
    ...{ platform, connection_id: connectionId, platform_message: platformMessage, next_step: nextStep },
    ...more,
  })
}

/** 404, byte-equal for what never was and for what another organisation owns. */
export function notFound(): AppError {
  return new AppError('not_found', 'There is no such resource in this organisation.')
}
