import { readLimits } from '../../accounts/repository.js'
import { AppError } from '../../errors.js'
import { FetchFailure, openFile } from '../../egress/open-file.js'
import type { RunView } from '../deliveries/ledger.js'
import type { Publisher, PublishStep } from '../deliveries/publisher.js'
import { refsOf, resolveContent } from '../posts/content.js'
import { toAssets } from './assets.js'
import { keepFetched, leaseFetches, noteFailed, type Fetch } from './fetches.js'
import { saveMedia } from './repository.js'
import { requireSize, storeFile, type StoredFile } from './store-file.js'
import { dropLoose } from '../../storage/loose-blobs.js'

/** Tries that an address gets as long as it fails in a way that may pass. */
const TRIES = 3
/** Whoever took longer comes back with the whole time of an attempt for its calls. */
const GO_ON_MS = 5_000

/** Fetches the media that a delivery's content names by address, once per post: whoever leases an address fetches it, the post's other deliveries come
 *  back for it. Null when there is nothing left to fetch; `fetched`: read the run again. */
export async function fetchMedia(publisher: Publisher, view: RunView): Promise<PublishStep | 'fetched' | null> {
  const known = toAssets(view.media)
  const named = refsOf([resolveContent(view.content, view.overrides)]).flatMap(({ url }) => url ?? [])
  const missing = named.filter((url) => !known.has(url))
  if (missing.length === 0) return null
  const { fetchTimeoutMs } = publisher.media
  const mine = await leaseFetches(publisher.database, {
    postId: view.post_id,
    urls: missing,
    forMs: fetchTimeoutMs + 15_000,
  })
  const begun = performance.now()
  await Promise.all(mine.map((fetch) => fetchOne(publisher, view, fetch)))
  if (mine.length > 0 && performance.now() - begun < GO_ON_MS) return 'fetched'
  const inMs = mine.length > 0 ? 0 : publisher.gates.fullRetryMs
  return { kind: 'retry', inMs, code: null, why: `The media of ${view.post_id} are being fetched` }
}

async function fetchOne(publisher: Publisher, view: RunView, fetch: Fetch): Promise<void> {
  const { database, blobs, pace, log } = publisher
  try {
    const file = await download(publisher, view, fetch.url)
    try {
      await keep(publisher, view, { fetch, file })
    } finally {
      await dropLoose({ database, blobs }, file.blob)
    }
  } catch (error) {
    if (!(error instanceof FetchFailure || error instanceof AppError)) throw error
    const again = error instanceof FetchFailure && error.transient && fetch.tries < TRIES
    log.info({ post_id: view.post_id, tries: fetch.tries, again, reason: error.message }, 'media.not_fetched')
    await noteFailed(database, fetch, again ? { againInMs: pace.retryFirstMs } : { problem: sayWhy(error) })
  }
}

const sayWhy = (error: FetchFailure | AppError) => error.message.replace(/^file: /, '')

/** The whole of it, from the first look-up to the last byte, within one time. */
async function download(
  publisher: Publisher,
  { organisation_id: organisationId }: RunView,
  url: string,
): Promise<StoredFile> {
  const { media_bytes: maxBytes } = await readLimits(publisher.database, organisationId)
  const signal = AbortSignal.timeout(publisher.media.fetchTimeoutMs)
  const { content, announced } = await openFile(publisher.clients.files, url, signal)
  requireSize(announced ?? 0, maxBytes)
  return storeFile(publisher, content, { organisationId, maxBytes })
}

async function keep(
  { database }: Publisher,
  { organisation_id: organisationId }: RunView,
  { fetch, file }: { fetch: Fetch; file: StoredFile },
): Promise<void> {
  const limits = await readLimits(database, organisationId)
  const filename = decodeName(fetch.url)
  await database.begin(async (tx) => {
    const { id } = await saveMedia(tx, { organisationId, limits }, { file, alt: null, filename })
    await keepFetched(tx, fetch, id)
  })
}

const decodeName = (url: string) => (new URL(url).pathname.split('/').at(-1) || 'file').slice(0, 255)
