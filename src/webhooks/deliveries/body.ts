/** An event as its row keeps it. */
export interface StoredEvent {
  id: string
  type: string
  created_at: Date
  data: Record<string, unknown>
}

/** Above this a receiver gets what is not a list. */
const LONGEST_BODY = 256 * 1024

/** The bytes that are signed and sent: `{id, type, created_at, data}` (relay.md, Body shape). They follow from the row alone, so every attempt and every
 *  replay sends the very same; an event is never changed. */
export function writeBody(event: StoredEvent): Buffer {
  const whole = serialise(event)
  if (whole.length <= LONGEST_BODY) return whole
  const plain = Object.entries(event.data).filter(([, value]) => typeof value !== 'object' || value === null)
  return serialise({ ...event, data: Object.fromEntries(plain) })
}

function serialise({ id, type, created_at, data }: StoredEvent): Buffer {
  return Buffer.from(JSON.stringify({ id, type, created_at: created_at.toISOString(), data }))
}
