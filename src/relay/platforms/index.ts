import { bluesky } from './bluesky.js'
import { mastodon } from './mastodon.js'
import type { Platform } from './platform.js'
import { sandbox } from './sandbox.js'
import { webhookPost } from './webhook-post.js'

/** The platforms of this process by id. */
export type Platforms = ReadonlyMap<string, Platform>

/** The list. The sandbox is on it where the operator runs one. */
export function createPlatforms({ sandboxUrl }: { sandboxUrl: string | undefined }): Platforms {
  const list = [bluesky, mastodon, webhookPost, ...(sandboxUrl ? [sandbox(sandboxUrl)] : [])]
  return new Map(list.map((platform) => [platform.id, platform]))
}
