import { request, type Dispatcher } from 'undici'

const MOST_REDIRECTS = 3

/** Why a file could not be had from an address; `transient` when it may be had later. Its message can be shown. */
export class FetchFailure extends Error {
  override readonly name = 'FetchFailure'

  constructor(
    message: string,
    readonly transient: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A file at a tenant's address: its bytes as they come, and the length it announces. */
export interface OpenedFile {
  content: AsyncIterable<Uint8Array>
  announced: number | null
}

/** Opens the file at an address that a tenant named, by a client that checks every hop of at most 3 redirects. `signal` also ends what comes later,
 *  while its bytes are read. Throws FetchFailure. */
export async function openFile(client: Dispatcher, address: string, signal: AbortSignal): Promise<OpenedFile> {
  let url = new URL(address)
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const { statusCode, headers, body } = await ask(client, url, signal)
    if (statusCode === 200) {
      const announced = Number(headers['content-length'] ?? NaN)
      return { content: tellFailures(body), announced: Number.isFinite(announced) ? announced : null }
    }
    const location = redirectOf(statusCode, headers['location'])
    body.on('error', () => undefined).destroy() // of no use; what breaks now concerns nobody
    if (!location) throw new FetchFailure(`answered ${statusCode}`, statusCode >= 500 || statusCode === 429)
    url = follow(location, url)
  }
  throw new FetchFailure(`was redirected more than ${MOST_REDIRECTS} times`, false)
}

function redirectOf(status: number, location: string | string[] | undefined): string | null {
  return [301, 302, 303, 307, 308].includes(status) && typeof location === 'string' ? location : null
}

function follow(location: string, from: URL): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from.href) : null
  if (to?.protocol === 'https:' || to?.protocol === 'http:') return to
  throw new FetchFailure('was redirected to what is no http(s) address', false)
}

async function ask(client: Dispatcher, url: URL, signal: AbortSignal) {
  try {
    return await request(url, { dispatcher: client, signal, headers: { accept: '*/*', 'accept-encoding': 'identity' } })
  } catch (error) {
    throw toFailure(error)
  }
}

async function* tellFailures(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await chunks.next().catch((error: unknown) => {
        throw toFailure(error)
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    await chunks.return?.()
  }
}

/** What the network says may hold addresses; a tenant is told the kind of it only. */
function toFailure(error: unknown): FetchFailure {
  const { code, name } = error as { code?: unknown; name?: string }
  if (code === 'EGRESS_REFUSED')
    return new FetchFailure('is at an address that is not allowed', false, { cause: error })
  if (name === 'TimeoutError') return new FetchFailure('did not arrive in time', true, { cause: error })
  return new FetchFailure('could not be fetched', true, { cause: error })
}
