import { createHmac, timingSafeEqual } from 'node:crypto'
import { startFakeServer } from './fake-server.js'

export const WEBHOOK_SECRET = 'a secret of sixteen or more'

/** A receiver as our documents tell to write one: checks the signature and knows a repeated delivery by its id. */
export function startWebhookReceiver() {
  const seen = new Set<string>()
  return startFakeServer(({ headers, body }, landed) => {
    if (!isSigned(body, String(headers['x-relay-signature']))) return { status: 401, body: null }
    const { id, text, reply_to } = JSON.parse(body) as { id: string; text: string; reply_to: string | null }
    const own = `post-${id}`
    if (!seen.has(id)) landed.push({ id: own, text, replyTo: reply_to })
    seen.add(String(headers['x-relay-delivery']))
    return { status: 200, body: { id: own, url: `https://receiver.test/${own}` } }
  })
}

function isSigned(body: string, header: string): boolean {
  const [, t = '', v1 = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  const expected = createHmac('sha256', WEBHOOK_SECRET).update(`${t}.${body}`).digest()
  return (
    Math.abs(Date.now() / 1000 - Number(t)) < 300 && timingSafeEqual(expected, Buffer.from(v1.padEnd(64, '0'), 'hex'))
  )
}
