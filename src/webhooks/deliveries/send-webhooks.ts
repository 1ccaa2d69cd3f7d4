import type { Database } from '../../db/client.js'
import type { Crash } from '../../crash-points.js'
import type { KeyEncryptionKey } from '../../encryption.js'
import type { Dispatcher } from 'undici'
import type { Log } from '../../log.js'
import type { WebhookMeter } from '../../operations/meters.js'
import { openSecrets } from '../endpoints/secret.js'
import { relaySignature, standardHeaders, type Secrets } from '../signature.js'
import { writeBody } from './body.js'
import { claimWebhooks, type Receiver } from './claim.js'
import type { ClaimedWebhook } from './open-attempts.js'
import { postWebhook } from './post-webhook.js'
import { recordOutcome } from './record-outcome.js'
import type { LaneStep } from './schema.js'

/** What sending needs of its process. */
export interface WebhookSender {
  database: Database
  /** The egress client: receivers are addresses that tenants name. */
  client: Dispatcher
  keys: readonly KeyEncryptionKey[]
  pace: { timeoutMs: number; leaseMs: number; timeScale: number }
  crash: Crash
  meter: WebhookMeter
  log: Log
}

/** After this a batch begins nothing more, so that a worker that is asked to stop need not wait for a long queue. */
export const BATCH_MS = 5_000

/** Sends what is due for an endpoint until nothing is, or the batch has lasted long enough. `failing` says for which kind of endpoint this queue is;
 *  one of the other kind is left to the other queue. */
export async function sendWebhooks(
  sender: WebhookSender,
  { endpointId, failing }: { endpointId: string; failing: boolean },
): Promise<LaneStep> {
  const { database, pace } = sender
  const deadline = performance.now() + BATCH_MS
  for (;;) {
    const claim = await claimWebhooks(database, endpointId, { leaseMs: pace.leaseMs, failing })
    const { receiver, deliveries } = claim
    if (!receiver || deliveries.length === 0) return { failing: claim.failing, waitMs: claim.waitMs }
    sender.crash('webhook.claimed')
    const secrets = openSecrets({ ...receiver, id: endpointId }, sender.keys)
    await Promise.all(deliveries.map((delivery) => attempt(sender, { receiver, secrets }, delivery)))
    if (performance.now() > deadline) return { failing, waitMs: 0 }
  }
}

async function attempt(
  { database, client, pace, crash, meter, log }: WebhookSender,
  { receiver, secrets }: { receiver: Receiver; secrets: Secrets },
  delivery: ClaimedWebhook,
): Promise<void> {
  if (delivery.lagMs !== null) meter.firstTried(delivery.lagMs / 1000)
  const body = writeBody(delivery.event)
  const headers = headersOf(delivery, { body, secrets })
  const outcome = await postWebhook(client, { url: receiver.url, headers, body }, pace.timeoutMs)
  crash('webhook.answered')
  await recordOutcome(database, { attempt: delivery, owner: receiver, pace }, outcome)
  meter.attempted(outcome.result)
  const { endpointId: endpoint_id } = receiver
  const { result, httpStatus: http_status, durationMs: duration_ms } = outcome
  log.info(
    { endpoint_id, delivery_id: delivery.id, attempt: delivery.number, result, http_status, duration_ms },
    'webhook.attempted',
  )
}

/** The time is that of this attempt: a retry a day later must pass the receiver's tolerance too. */
function headersOf({ id, event }: ClaimedWebhook, { body, secrets }: { body: Buffer; secrets: Secrets }) {
  const at = new Date()
  return {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'user-agent': 'Relay-Webhooks/1',
    'accept-encoding': 'identity',
    'x-relay-signature': relaySignature(body, { secrets, at }),
    'x-relay-event': event.type,
    'x-relay-delivery': id,
    ...standardHeaders(body, { id, secrets, at }),
  }
}
