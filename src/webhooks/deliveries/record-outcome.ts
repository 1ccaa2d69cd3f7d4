import { writeAudit } from '../../audit/repository.js'
import type { Database, Transaction } from '../../db/client.js'
import { disableEndpoint } from '../endpoints/repository.js'
import type { Receiver } from './claim.js'
import type { ClaimedWebhook } from './open-attempts.js'
import {
  breakerOpens,
  disableReason,
  holdFor,
  nextGap,
  probeEvery,
  type Health,
  type Outcome,
  type Scaled,
} from './rules.js'

type Attempt = Pick<ClaimedWebhook, 'id' | 'number' | 'failures'>
type Owner = Pick<Receiver, 'organisationId' | 'endpointId'>

/** Writes what an attempt brought: the attempt, when the delivery is due again or that it is settled, and what follows for its endpoint. An attempt whose
 *  claim has lapsed and was overtaken changes its own row only. */
export async function recordOutcome(
  database: Database,
  { attempt, owner, pace }: { attempt: Attempt; owner: Owner; pace: Scaled },
  outcome: Outcome,
): Promise<void> {
  if (outcome.result === 'succeeded') return recordSuccess(database, attempt, owner, outcome)
  await database.begin(async (tx) => {
    const gapMs = nextGap(attempt.failures + 1, outcome, { ...pace, random: Math.random() })
    // Endpoint, delivery, attempt: everybody who changes several of them locks them in this order.
    const health = await countFailure(tx, owner.endpointId, holdFor(outcome, pace))
    await deferDelivery(tx, attempt, gapMs)
    await closeAttempt(tx, attempt, outcome)
    if (health) await judgeEndpoint(tx, { owner, pace, health }, outcome)
  })
}

async function recordSuccess(database: Database, attempt: Attempt, owner: Owner, outcome: Outcome): Promise<void> {
  await database.begin(async (tx) => {
    // Only where it changes anything: many may succeed at once.
    await tx`
      update webhook_endpoints
         set proven = true, well_at = now(), failing_since = null, failed_attempts = 0, probe_at = null,
             breaker_closed_at = case when probe_at is null then breaker_closed_at else now() end
       where id = ${owner.endpointId}
         and (not proven or failing_since is not null or probe_at is not null or well_at < now() - interval '1 minute')`
    await tx`
      update webhook_deliveries set status = 'succeeded', claimed_until = null, settled_at = now()
       where id = ${attempt.id} and attempts = ${attempt.number} and status in ('pending', 'held')`
    await closeAttempt(tx, attempt, outcome)
  })
}

async function closeAttempt(tx: Transaction, { id, number }: Attempt, outcome: Outcome): Promise<void> {
  const { result, durationMs, httpStatus, error, excerpt } = outcome
  await tx`
    update webhook_attempts
       set succeeded = ${result === 'succeeded'}, duration_ms = ${durationMs}, http_status = ${httpStatus}, error = ${error}, response_excerpt = ${excerpt}
     where delivery_id = ${id} and number = ${number}`
}

async function deferDelivery(tx: Transaction, { id, number }: Attempt, gapMs: number | null): Promise<void> {
  await tx`
    update webhook_deliveries
       set failures = failures + 1, claimed_until = null,
           due_at = ${gapMs === null ? tx`due_at` : tx`now() + ${gapMs} * interval '1 millisecond'`},
           status = case when status = 'pending' and ${gapMs === null} then 'failed' else status end,
           settled_at = case when status = 'pending' and ${gapMs === null} then now() end
     where id = ${id} and attempts = ${number} and status in ('pending', 'held')`
}

interface HealthRow extends Health {
  open: boolean
}

async function judgeEndpoint(
  tx: Transaction,
  { owner: { organisationId, endpointId }, pace, health }: { owner: Owner; pace: Scaled; health: HealthRow },
  outcome: Outcome,
): Promise<void> {
  const reason = disableReason(outcome, health)
  if (reason && (await disableEndpoint(tx, endpointId, reason))) return tellDisabled(tx, organisationId, endpointId)
  if (!health.open && !breakerOpens(health)) return
  await tx`
    update webhook_endpoints set probe_at = now() + ${probeEvery(pace)} * interval '1 millisecond' where id = ${endpointId}`
}

/** This one included, which is not written down yet. Null: the endpoint is switched off or deleted. */
async function countFailure(tx: Transaction, id: string, holdMs: number | null): Promise<HealthRow | null> {
  const [row] = await tx<HealthRow[]>`
    update webhook_endpoints e
       set failing_since = coalesce(failing_since, now()), failed_attempts = failed_attempts + 1,
           held_until = greatest(held_until, now() + ${holdMs ?? 0} * interval '1 millisecond')
     where id = ${id} and enabled and deleted_at is null
    returning probe_at is not null as open, failed_attempts as "failedAttempts",
              (extract(epoch from now() - failing_since) * 1000)::float8 as "failingForMs",
              (extract(epoch from now() - well_at) * 1000)::float8 as "notWellForMs",
              (select 1 + count(*)::int from webhook_attempts a where ${ended(tx)}) as recent,
              (select 1 + count(*)::int from webhook_attempts a where ${ended(tx)} and not a.succeeded) as "recentFailed"`
  return row ?? null
}

const ended = (tx: Transaction) => tx`
  a.endpoint_id = e.id and a.at > greatest(now() - interval '5 minutes', e.breaker_closed_at) and a.succeeded is not null`

async function tellDisabled(tx: Transaction, organisationId: string, endpointId: string): Promise<void> {
  const actor = { kind: 'system', id: 'webhooks', name: 'webhooks' }
  const action = 'webhook.disabled' as const
  await writeAudit(tx, { organisationId, actor, action, targetId: endpointId, requestId: null, ip: null })
}
