import { z } from 'zod'
import { readTrustedProxies } from './trusted-proxies.js'
import { CRASH_POINTS, CRASH_SIGNALS } from './crash-points.js'

/** Development's own pepper and key-encryption key: the same everywhere, so nothing kept with them is secret. Production refuses them. */
export const DEV_ONLY_PEPPER = 'dev-only-pepper'
const DEV_ONLY_KEY_ENCRYPTION_KEYS = `dev-only:${Buffer.from('dev-only-key-encryption-key-0001').toString('base64')}`

/** Relative to where a process was started: good for one machine. Production must name its own. */
const DEV_ONLY_MEDIA_DIR = '.data/media'

/** The port of each process for operators where METRICS_PORT says none: both may run on one machine. */
const API_METRICS_PORT = 9464
export const WORKER_METRICS_PORT = 9465

const milliseconds = (fallback: number) => z.coerce.number().int().min(0).default(fallback)
const port = z.coerce.number().int().min(0).max(65535)

const keyEncryptionKeys = z.string().transform((text, context) =>
  text.split(',').map((entry) => {
    const [id = '', encoded = ''] = entry.split(':')
    const key = Buffer.from(encoded, 'base64')
    if (!/^[A-Za-z0-9_-]+$/.test(id) || key.length !== 32)
      context.addIssue(
        'must be a list of id:base64 with 32 bytes each and ids of letters, digits, _ and -; the first one encrypts',
      )
    return { id, key }
  }),
)

const trustedProxies = z.string().transform((text, context) => {
  const proxies = readTrustedProxies(text)
  if (proxies === null) context.addIssue('must be a number of proxies or a list of their addresses and ranges')
  return proxies ?? false
})

const Environment = z.object({
  NODE_ENV: z.enum(['production', 'development', 'test']).default('development'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(8080),
  /** Where operators look: metrics, health, readiness. */
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_PORT: port.optional(),
  /** How long an api that was asked to end goes on serving while whoever sends it requests notices. */
  DRAIN_MS: milliseconds(5_000),
  /** Whose word about a caller's address counts (`X-Forwarded-For`): nobody's, so many proxies', or those at these addresses. */
  TRUST_PROXY: trustedProxies.prefault(''),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  TEMPORAL_ADDRESS: z.string().default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  /** Keeps two stacks on one Temporal server apart. */
  TASK_QUEUE_SUFFIX: z.string().default(''),
  /** A workflow bundle made beforehand; without it the worker bundles at start. */
  WORKFLOW_BUNDLE: z.string().optional(),
  KEY_PEPPER: z.string().min(1).default(DEV_ONLY_PEPPER),
  KEY_ENCRYPTION_KEYS: keyEncryptionKeys.prefault(DEV_ONLY_KEY_ENCRYPTION_KEYS),
  /** Where the sandbox destination answers; without it there is no sandbox. */
  SANDBOX_URL: z.url().optional(),
  /** Servers that tenants may name although they are not public, as `host:port`; for development and tests. */
  EGRESS_ALLOW: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter(Boolean),
    ),
  /** Where callers reach the api, for addresses in its answers. */
  PUBLIC_ORIGIN: z.url({ protocol: /^https?$/ }).optional(),
  /** Files: a bucket, all five or none, or else a folder that api and worker share. */
  S3_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  S3_BUCKET: z.string().optional(),
  S3_REGION: z.string().optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  MEDIA_DIR: z.string().optional(),
  FETCH_TIMEOUT_MS: milliseconds(60_000).refine((value) => value <= 60_000, 'must fit into an attempt'),
  CRASH_AT: z.enum(CRASH_POINTS).optional(),
  CRASH_WITH: z.enum(CRASH_SIGNALS).default('SIGKILL'),
  CALL_TIMEOUT_MS: milliseconds(30_000).refine(
    (value) => value <= 40_000,
    'must leave 15 s of the 60 s an attempt may take',
  ),
  CALL_GRACE_MS: milliseconds(5_000),
  LOOK_UP_FOR_MS: milliseconds(24 * 3_600_000),
  RETRY_FIRST_MS: milliseconds(5_000),
  RETRY_LONGEST_MS: milliseconds(15 * 60_000),
  PAUSE_WAIT_MS: milliseconds(3_600_000),
  FULL_RETRY_MS: milliseconds(500),
  PUBLISH_SLOTS: z.coerce.number().int().min(1).default(100),
  PLATFORM_CONCURRENCY: z.coerce.number().int().min(1).default(25),
  WEBHOOK_TIMEOUT_MS: milliseconds(15_000).refine(
    (value) => value <= 20_000,
    'must leave time of the 60 s a batch may take',
  ),
  WEBHOOK_GRACE_MS: milliseconds(5_000),
  WEBHOOK_SLOTS: z.coerce.number().int().min(1).default(500),
  WEBHOOK_TIME_SCALE: z.coerce.number().positive().max(1).default(1),
  OUTBOX_POLL_MS: milliseconds(1_000),
  OUTBOX_LEASE_MS: milliseconds(30_000),
  SWEEP_EVERY_MS: milliseconds(60_000),
  SWEEP_OVERDUE_MS: milliseconds(120_000),
})

/** Reads the environment once and freezes it; `metricsPort` counts where METRICS_PORT is not set. Throws one Error that names every variable that is missing or wrong, and what it must be. */
export function readConfig(environment: NodeJS.ProcessEnv, { metricsPort = API_METRICS_PORT } = {}) {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const parsed = Environment.safeParse(present)
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    throw new Error(`The configuration is not usable. ${problems.join('; ')}`)
  }
  const env = parsed.data
  refuseInProduction(env)
  return Object.freeze({
    logLevel: env.LOG_LEVEL,
    host: env.HOST,
    port: env.PORT,
    metrics: Object.freeze({ host: env.METRICS_HOST, port: env.METRICS_PORT ?? metricsPort }),
    drainMs: env.DRAIN_MS,
    trustProxy: env.TRUST_PROXY,
    databaseUrl: env.DATABASE_URL,
    temporal: { address: env.TEMPORAL_ADDRESS, namespace: env.TEMPORAL_NAMESPACE },
    taskQueueSuffix: env.TASK_QUEUE_SUFFIX,
    workflowBundle: env.WORKFLOW_BUNDLE,
    pepper: env.KEY_PEPPER,
    keyEncryptionKeys: env.KEY_ENCRYPTION_KEYS,
    sandboxUrl: env.SANDBOX_URL,
    egressAllow: env.EGRESS_ALLOW,
    publicOrigin: new URL(env.PUBLIC_ORIGIN ?? `http://${env.HOST}:${env.PORT}`).origin,
    media: Object.freeze({
      s3: readS3(env),
      dir: env.MEDIA_DIR ?? DEV_ONLY_MEDIA_DIR,
      /** How long the whole of a file that a post names by its address may take. */
      fetchTimeoutMs: env.FETCH_TIMEOUT_MS,
    }),
    crash: Object.freeze({ at: env.CRASH_AT, signal: env.CRASH_WITH }),
    pace: Object.freeze({
      callTimeoutMs: env.CALL_TIMEOUT_MS,
      callGraceMs: env.CALL_GRACE_MS,
      /** How long a platform that does not answer is asked about an unknown outcome before it counts as one that cannot be asked. */
      lookUpForMs: env.LOOK_UP_FOR_MS,
      retryFirstMs: env.RETRY_FIRST_MS,
      retryLongestMs: env.RETRY_LONGEST_MS,
    }),
    gates: Object.freeze({
      /** How long the run of a paused delivery waits before it looks by itself; lifting the pause wakes it. */
      pauseWaitMs: env.PAUSE_WAIT_MS,
      /** Deliveries one worker process works on at once, and of these the calls to one platform. */
      publishSlots: env.PUBLISH_SLOTS,
      concurrency: env.PLATFORM_CONCURRENCY,
      /** The shortest wait of a delivery whose platform has no slot free. */
      fullRetryMs: env.FULL_RETRY_MS,
    }),
    webhooks: Object.freeze({
      /** One attempt as a whole, and how long its claim holds: a worker that died keeps it so long. */
      timeoutMs: env.WEBHOOK_TIMEOUT_MS,
      leaseMs: env.WEBHOOK_TIMEOUT_MS + env.WEBHOOK_GRACE_MS,
      /** Endpoints that one worker process sends to at once, for healthy and for failing ones each. */
      slots: env.WEBHOOK_SLOTS,
      /** Every delay between attempts is multiplied by it; for tests. */
      timeScale: env.WEBHOOK_TIME_SCALE,
    }),
    outbox: Object.freeze({ pollMs: env.OUTBOX_POLL_MS, leaseMs: env.OUTBOX_LEASE_MS }),
    sweep: Object.freeze({ everyMs: env.SWEEP_EVERY_MS, overdueMs: env.SWEEP_OVERDUE_MS }),
  })
}

export type Config = ReturnType<typeof readConfig>

/** Null when no bucket is named; throws when only half of one is. */
function readS3(env: z.infer<typeof Environment>) {
  const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_REGION: region } = env
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (endpoint && bucket && region && accessKeyId && secretAccessKey)
    return Object.freeze({ endpoint, bucket, region, accessKeyId, secretAccessKey })
  if (!endpoint && !bucket && !region && !accessKeyId && !secretAccessKey) return null
  throw new Error(
    'The configuration is not usable. S3_ENDPOINT, S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY: set all or none',
  )
}

/** How long the delivery of a post waits for what; scaled down in tests. */
export type Pace = Config['pace']

function refuseInProduction(env: z.infer<typeof Environment>): void {
  if (env.NODE_ENV !== 'production') return
  const refused = [
    env.KEY_PEPPER === DEV_ONLY_PEPPER && 'KEY_PEPPER: set a secret of your own',
    env.KEY_ENCRYPTION_KEYS.some(({ id }) => id.startsWith('dev-only')) && 'KEY_ENCRYPTION_KEYS: set keys of your own',
    env.EGRESS_ALLOW.length > 0 && 'EGRESS_ALLOW: would open the inside of your network',
    env.WEBHOOK_TIME_SCALE < 1 && 'WEBHOOK_TIME_SCALE: is for tests only',
    !env.PUBLIC_ORIGIN && 'PUBLIC_ORIGIN: say where callers reach the api',
    !env.S3_ENDPOINT && !env.MEDIA_DIR && 'S3_ENDPOINT: name a bucket, or a folder by MEDIA_DIR',
    env.CRASH_AT && 'CRASH_AT: is for tests only',
  ].filter((problem) => typeof problem === 'string')
  if (refused.length > 0) throw new Error(`Not fit for production. ${refused.join('; ')}`)
}
