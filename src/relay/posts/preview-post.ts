import type { Transaction } from '../../db/client.js'
import type { Platforms } from '../platforms/index.js'
import type { Piece } from '../platforms/platform.js'
import { projectTargets, refusalsOf, type ProjectedTarget } from './project-targets.js'
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
  const previewed = projectTargets(platforms, aim, targets).map((target) => previewTarget(target, aim))
  const taken = previewed.filter(({ ok }) => ok).length
  const ok = taken > 0 && (aim.validation === 'lenient' || taken === previewed.length)
  return { ok, targets: previewed, warnings }
}

/** One target of a preview. */
export function previewTarget(target: ProjectedTarget, { validation }: Aim): PreviewedTarget {
  const { id, platform, handle, pieces, adaptations, length } = target
  const errors = refusalsOf(target, validation)
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
    media: [],
    media_not_taken: [],
    length,
    warnings: [...target.warnings, ...(validation === 'lenient' ? adaptations : [])],
    errors,
    unverified_media: [],
  }
}

const NOTHING = { text: '', title: null, link: null, tags: [] }
const shownOf = ({ text, title, link, tags }: Piece) => ({ text, title, link, tags })
