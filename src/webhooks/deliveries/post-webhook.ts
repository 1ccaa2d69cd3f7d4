import type { Dispatcher } from 'undici'
import { hideSecretText } from '../../hide-secrets.js'
import { readRetryAfter } from '../../retry-after.js'
import type { Outcome } from './rules.js'

const READ_BYTES = 16 * 1024
const KEPT_BYTES = 4 * 1024
const KEPT_LOCATION = 500

interface Post {
  url: string
  headers: Record<string, string>
  body: Buffer
}

/** Makes one attempt: one request without redirects, `timeoutMs` as a whole. Never throws for what a receiver or the way to it does; the status alone
 *  decides, and what follows it is read as far as it is kept. */
export async function postWebhook(client: Dispatcher, post: Post, timeoutMs: number): Promise<Outcome> {
  const began = performance.now()
  const ending = new AbortController()
  const alarm = setTimeout(() => ending.abort(), timeoutMs)
  const tell = (outcome: Omit<Outcome, 'durationMs'>) => ({
    ...outcome,
    durationMs: Math.round(performance.now() - began),
  })
  try {
    const { origin, pathname, search } = new URL(post.url)
    const { headers, body } = post
    const answer = await client.request({
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers,
      body,
      signal: ending.signal,
    })
    return tell({ ...judge(answer), excerpt: await readExcerpt(answer.body) })
  } catch (error) {
    return tell({ ...unanswered(error, { timedOut: ending.signal.aborted, timeoutMs }), ...NO_ANSWER })
  } finally {
    clearTimeout(alarm)
  }
}

const NO_ANSWER = { httpStatus: null, excerpt: null, retryAfterMs: null }

type Judged = Omit<Outcome, 'durationMs' | 'excerpt'>

function judge({ statusCode: httpStatus, headers }: Dispatcher.ResponseData): Judged {
  const retryAfterMs = readRetryAfter(first(headers['retry-after']), Date.now())
  const answered = { httpStatus, retryAfterMs }
  if (httpStatus >= 200 && httpStatus < 300) return { ...answered, result: 'succeeded', error: null }
  if (httpStatus < 300 || httpStatus >= 400)
    return { ...answered, result: 'refused', error: `The receiver answered ${httpStatus}.` }
  const to = showText(first(headers['location']) ?? 'nowhere').slice(0, KEPT_LOCATION)
  const error = `The receiver answered ${httpStatus} and points to ${to}; redirects are not followed.`
  return { ...answered, result: 'redirected', error }
}

const first = (value: string | string[] | undefined): string | null => [value].flat()[0] ?? null

/** The beginning of an answer, as a row can hold it; the rest is not waited for. */
async function readExcerpt(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= READ_BYTES) break // leaving the loop destroys the socket
    }
  } catch {
    return showBytes(chunks) // cut short or out of time: the status was there, and is what counts
  }
  return showBytes(chunks)
}

const showBytes = (chunks: Buffer[]) => showText(Buffer.concat(chunks).subarray(0, KEPT_BYTES).toString('utf8'))
const showText = (text: string) => hideSecretText(text.toWellFormed().replaceAll('\0', ''))

const TLS = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|EPROTO)/

/** Says what went wrong without naming the address that was reached: it may be the inside of a network. */
function unanswered(
  error: unknown,
  { timedOut, timeoutMs }: { timedOut: boolean; timeoutMs: number },
): Pick<Outcome, 'result' | 'error'> {
  if (timedOut) return { result: 'timeout', error: `There was no answer within ${timeoutMs / 1000} s.` }
  const code = String((error as { code?: unknown }).code ?? 'unknown')
  if (code === 'EGRESS_REFUSED') return { result: 'not_allowed', error: 'The address is not allowed.' }
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return { result: 'timeout', error: 'There was no connection in time.' }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return { result: 'unreachable', error: 'The name does not resolve.' }
  if (TLS.test(code)) return { result: 'unreachable', error: `The TLS connection failed (${code}).` }
  return { result: 'unreachable', error: `The connection failed (${code}).` }
}
