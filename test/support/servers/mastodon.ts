import { startFakeServer } from './fake-server.js'
import { mastodonLength } from '../../../src/relay/platforms/mastodon.js'

export const MASTODON_TOKEN = 'mastodon-token'

/** Mastodon's API as docs.joinmastodon.org has it: token, instance limits, statuses with an Idempotency-Key that is kept. */
export function startMastodon({ maxCharacters = 500 } = {}) {
  const byKey = new Map<string, string>()
  const attachments = new Map<string, { description: string | null; asked: number }>()
  return startFakeServer(({ method, path, headers, body }, landed) => {
    if (path === '/api/v2/instance')
      return { status: 200, body: { configuration: { statuses: { max_characters: maxCharacters } } } }
    if (headers.authorization !== `Bearer ${MASTODON_TOKEN}`)
      return { status: 401, body: { error: 'The access token is invalid' } }
    if (path === '/api/v1/accounts/verify_credentials')
      return { status: 200, body: { id: '7', acct: 'alice', display_name: 'Alice', avatar: 'https://x.test/a.png' } }
    if (method === 'POST' && path === '/api/v2/media') {
      const id = `m${attachments.size + 1}`
      const description = /name="description"\r\n\r\n([^\r]*)/.exec(body)?.[1] ?? null
      attachments.set(id, { description, asked: 0 })
      return { status: 202, body: { id, url: null } }
    }
    const attachment = attachments.get(path.replace('/api/v1/media/', ''))
    if (attachment) {
      const ready = ++attachment.asked > 1
      return {
        status: ready ? 200 : 206,
        body: { id: path.split('/').at(-1), url: ready ? 'https://m.test/x.png' : null },
      }
    }
    if (method !== 'POST' || path !== '/api/v1/statuses') return { status: 404, body: { error: 'Record not found' } }

    const {
      status: text,
      in_reply_to_id: replyTo = null,
      media_ids: media = [],
    } = JSON.parse(body) as {
      status: string
      in_reply_to_id?: string
      media_ids?: string[]
    }
    const shown = (id: string) => ({
      status: 200,
      body: { id, url: `https://m.test/@alice/${id}`, uri: `https://m.test/${id}` },
    })
    const key = String(headers['idempotency-key'])
    const known = byKey.get(key)
    if (known) return shown(known)
    if (replyTo && !landed.some(({ id }) => id === replyTo)) return { status: 404, body: { error: 'Record not found' } }
    if (mastodonLength(text) > maxCharacters)
      return { status: 422, body: { error: `Validation failed: Text character limit of ${maxCharacters} exceeded` } }
    const notReady = media.some((id) => (attachments.get(id)?.asked ?? 0) < 2)
    if (notReady)
      return {
        status: 422,
        body: { error: 'Cannot attach files that have not finished processing. Try again in a moment!' },
      }
    const id = String(1_000 + landed.length)
    byKey.set(key, id)
    landed.push({ id, text, replyTo, media: media.map((id) => attachments.get(id)?.description ?? null) })
    return shown(id)
  })
}
