import { createHmac } from 'node:crypto'

/** What every attempt is signed with: one secret, two while the overlap of a rotation runs, the newest first. */
export type Secrets = readonly [string, ...string[]]

/** The prefix of every secret; what follows is the base64 of 32 random bytes. */
export const SECRET_PREFIX = 'whsec_'

const unixSeconds = (at: Date) => Math.floor(at.getTime() / 1000)

/** `t=<unix seconds>,v1=<hex>[,v1=<hex>]`: HMAC-SHA256 over `<t>.<raw body>`, keyed with the whole text of each secret (relay.md, Signature rules). */
export function relaySignature(body: Buffer, { secrets, at }: { secrets: Secrets; at: Date }): string {
  const t = unixSeconds(at)
  const sign = (secret: string) => createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
  return [`t=${t}`, ...secrets.map((secret) => `v1=${sign(secret)}`)].join(',')
}

/** The headers of Standard Webhooks 1.0 from the same secrets, whose decoded part is the key there: `v1,<base64>`, separated by spaces. */
export function standardHeaders(
  body: Buffer,
  { id, secrets, at }: { id: string; secrets: Secrets; at: Date },
): Record<string, string> {
  const t = unixSeconds(at)
  const sign = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64'))
      .update(`${id}.${t}.`)
      .update(body)
      .digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(t),
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret)}`).join(' '),
  }
}
