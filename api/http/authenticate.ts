import type { IncomingHttpHeaders } from 'node:http'
import { planOf, type Feature } from '../../src/accounts/plans.js'
import { findCaller } from '../../src/accounts/repository.js'
import type { Caller, Scope } from '../../src/accounts/schema.js'
import { AppError } from '../../src/errors.js'
import type { ApiContext } from '../context.js'

// One constant answer for no key, a malformed, an unknown and a revoked one.
const unauthorized = () =>
  new AppError('unauthorized', 'Send a valid API key as `Authorization: Bearer <key>` or in `X-API-Key`.')

function readKey(headers: IncomingHttpHeaders): string | null {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  const plain = headers['x-api-key']
  const keys = new Set([bearer, plain].filter((key) => typeof key === 'string'))
  // Two different keys: nobody can say which of them was meant.
  return keys.size === 1 ? ([...keys][0] ?? null) : null
}

/** Who makes the request; throws 401 unauthorized. */
export async function authenticate(context: ApiContext, headers: IncomingHttpHeaders): Promise<Caller> {
  const key = readKey(headers)
  const caller = key ? await findCaller(context.database, key, { pepper: context.config.pepper }) : null
  if (!caller) throw unauthorized()
  return caller
}

/** Throws 403 insufficient_scope with the scope that is needed. */
export function requireScope({ scopes }: Caller, scope: Scope): void {
  if (!scopes.includes(scope) && !scopes.includes('admin'))
    throw new AppError('insufficient_scope', `This key lacks the scope \`${scope}\`.`, { scope })
}

/** Throws 402 payment_required with the feature that the plan does not carry. */
export function requireFeature({ plan }: Caller, feature: Feature): void {
  const { name, features } = planOf(plan)
  if (!features.includes(feature))
    throw new AppError(
      'payment_required',
      `The plan ${name} does not carry \`${feature}\`; GET /v1/plans lists those that do.`,
      {
        feature,
        plan,
      },
    )
}
