import type { Environment } from './environment.js'
import { DEV_ONLY_KEY, DEV_ONLY_PEPPER } from './environment.js'

const LEAST_PEPPER = 32

/** What must not be in production: everything that is missing there or is development's, one sentence each (decisions.md 2). Empty: fit. */
export function findUnfitForProduction(env: Environment): string[] {
  const { PUBLIC_ORIGIN: origin, KEY_PEPPER: pepper } = env
  const problems: (string | false)[] = [
    !origin && 'PUBLIC_ORIGIN: say where callers reach the api',
    origin !== undefined && !isSafe(new URL(origin)) && 'PUBLIC_ORIGIN: must be https, as keys and files go over it',
    !env.TEMPORAL_ADDRESS && 'TEMPORAL_ADDRESS: say where Temporal is, as host:port',
    pepper === DEV_ONLY_PEPPER && 'KEY_PEPPER: set a secret of your own',
    pepper !== DEV_ONLY_PEPPER &&
      pepper.length < LEAST_PEPPER &&
      `KEY_PEPPER: must have ${LEAST_PEPPER} characters or more`,
    env.KEY_ENCRYPTION_KEYS.some(isDevOnly) && 'KEY_ENCRYPTION_KEYS: set keys of your own',
    !env.S3_ENDPOINT && !env.MEDIA_DIR && 'S3_ENDPOINT: name a bucket, or a folder by MEDIA_DIR',
    env.EGRESS_ALLOW.length > 0 &&
      !(origin && isLoopback(new URL(origin))) &&
      'EGRESS_ALLOW: would open the inside of your network',
    env.WEBHOOK_TIME_SCALE < 1 && 'WEBHOOK_TIME_SCALE: is for tests only',
    env.CRASH_AT !== undefined && 'CRASH_AT: is for tests only',
  ]
  return problems.filter((problem) => problem !== false)
}

/** Also under another name the key is everybody's. */
function isDevOnly({ id, key }: Environment['KEY_ENCRYPTION_KEYS'][number]): boolean {
  return id.startsWith('dev-only') || key.equals(DEV_ONLY_KEY)
}

const isSafe = (url: URL) => url.protocol === 'https:' || isLoopback(url)

/** This machine itself: a rehearsal, or a first look. */
const isLoopback = ({ hostname }: URL) => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
