import type { Transaction } from '../../db/client.js'
import { findRecentlyAimed } from '../deliveries/repository.js'
import type { Warning } from '../deliveries/schema.js'
import { requireAssets } from '../media/assets.js'
import type { Platforms } from '../platforms/index.js'
import type { Piece } from '../platforms/platform.js'
import { refsOf } from './content.js'
import { toWarning } from './duplicate-guard.js'
import { projectTargets, refusalsOf, unverifiedWarnings, type ProjectedTarget } from './project-targets.js'
import type { Aim, PreviewedPost, PreviewedTarget } from './schema.js'
import { findTargets } from './targets.js'

/** What each target would get, without writing anything; `ok` says whether the post would be accepted. Throws as accepting would for targets
 *  that cannot be aimed at; what a target does not take is part of the answer. */
export async function previewPost(
  tx: Transaction,
  { organisationId, platforms }: { organisationId: string; platforms: Platforms },
  aim: Aim,
): Promise<PreviewedPost> {
  const { targets, warnings } = await findTargets(tx, { organisationId, platforms }, aim)
  const refs = refsOf([aim.content, ...Object.values(aim.overrides), ...aim.targets.map(({ overrides }) => overrides)])
  const assets = await requireAssets(tx, organisationId, { refs, lock: false })
  const projected = projectTargets(platforms, { ...aim, assets }, targets)
  const repeated = (await findRecentlyAimed(tx, { organisationId, postId: null }, projected)).map(toWarning)
  const previewed = projected.map((target) =>
    previewTarget(
      target,
      aim,
      repeated.filter(({ connection_id }) => connection_id === target.id),
    ),
  )
  const taken = previewed.filter(({ ok }) => ok).length
  const ok = taken > 0 && (aim.validation === 'lenient' || taken === previewed.length)
  return { ok, targets: previewed, warnings }
}

/** One target of a preview. */
export function previewTarget(target: ProjectedTarget, { validation }: Aim, repeated: Warning[] = []): PreviewedTarget {
  const { id, platform, handle, pieces, adaptations, length } = target
  const lenient = validation === 'lenient'
  const again = repeated.map(({ path, message, limit, received }) => ({
    code: 'duplicate_content',
    path,
    message,
    limit,
    received,
  }))
  const errors = [...refusalsOf(target, validation), ...(lenient ? [] : again)]
  const ofKind = (kind: Piece['kind']) => pieces.filter((piece) => piece.kind === kind)
  const [post] = ofKind('post').map(shownOf)
  const [comment] = ofKind('comment')
  return {
    connection_id: id,
    platform,
    handle,
    ok: errors.length === 0,
    ...(post ?? NOTHING),
    parts: ofKind('part').map(shownOf),
    first_comment: comment ? { text: comment.text } : null,
    media_not_taken: target.mediaNotTaken,
    length,
    warnings: [...target.warnings, ...(lenient ? [...adaptations, ...repeated] : []), ...unverifiedWarnings(target)],
    errors,
    unverified_media: target.unverified.map(({ index, url, contentType }) => ({
      index,
      url,
      assumed_content_type: contentType,
    })),
  }
}

const NOTHING = { text: '', title: null, link: null, tags: [], media: [] }
const shownOf = ({ text, title, link, tags, media }: Piece) => ({
  ...{ text, title, link, tags },
  media: media.map(({ index, id, url, kind, alt }) => ({ index, id, url, kind, alt })),
})
