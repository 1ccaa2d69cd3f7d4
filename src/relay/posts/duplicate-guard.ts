import type { Transaction } from '../../db/client.js'
import { AppError } from '../../errors.js'
import { findRecentlyAimed, lockContents, type RecentlyAimed } from '../deliveries/repository.js'
import type { Warning } from '../deliveries/schema.js'
import type { ProjectedTarget } from './project-targets.js'
import type { CreatePost } from './schema.js'

/** Notices what one of the targets got, or is to get, word for word from a post of the last 24 hours. Strict: 409 duplicate_content; lenient: a
 *  warning. A draft is not asked, nor who says `allow_duplicate` (shapes.md 2, Duplicate guard). */
export async function guardDuplicates(
  tx: Transaction,
  post: { organisationId: string; postId: string },
  targets: ProjectedTarget[],
  { draft, allow_duplicate: allowed, validation }: CreatePost,
): Promise<Warning[]> {
  if (draft || allowed || targets.length === 0) return []
  // Twins at the same moment do not see each other: in strict mode one goes after the other.
  if (validation === 'strict') await lockContents(tx, post.organisationId, targets)
  const recent = await findRecentlyAimed(tx, post, targets)
  const [first] = recent
  if (first && validation === 'strict')
    throw new AppError(
      'duplicate_content',
      `Post ${first.postId} says the same to the same connection; send allow_duplicate to repeat it.`,
      {
        reason: 'recent_identical_post',
        existing_post_id: first.postId,
        connection_id: first.connectionId,
      },
    )
  return recent.map(toWarning)
}

/** What is said of a target that got the same lately. */
export function toWarning({ postId, connectionId, platform }: RecentlyAimed): Warning {
  return {
    code: 'recent_duplicate',
    message: `Post ${postId} of the last 24 hours says the same to this connection.`,
    path: 'content',
    platform,
    connection_id: connectionId,
    limit: null,
    received: null,
    unit: null,
  }
}
