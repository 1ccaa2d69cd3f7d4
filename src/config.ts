import { Environment } from './environment.js'
import { findUnfitForProduction } from './production.js'

export { DEV_ONLY_PEPPER } from './environment.js'

/** Relative to where a process was started: good for one machine. Production must name its own. */
const DEV_ONLY_MEDIA_DIR = '.data/media'

/** The port of each process for operators where METRICS_PORT says none: both may run on one machine. */
const API_METRICS_PORT = 9464
export const WORKER_METRICS_PORT = 9465

const DEV_TEMPORAL = '127.0.0.1:7233'

/** Reads the environment once and freezes it; `metricsPort` counts where METRICS_PORT is not set. Throws one Error that names every variable that is missing or wrong, and what it must be. */
export function readConfig(environment: NodeJS.ProcessEnv, { metricsPort = API_METRICS_PORT } = {}) {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const parsed = Environment.safeParse(present)
  if (!parsed.success) {
    throw unusable(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`))
  }
  const env = parsed.data
  const unfit = env.NODE_ENV === 'production' ? findUnfitForProduction(env) : []
  if (unfit.length > 0) throw new Error(`Not fit for production. ${unfit.join('; ')}`)
  return Object.freeze({
    logLevel: env.LOG_LEVEL,
    host: env.HOST,
    port: env.PORT,
    metrics: Object.freeze({ host: env.METRICS_HOST, port: env.METRICS_PORT ?? metricsPort }),
    drainMs: env.DRAIN_MS,
    trustProxy: env.TRUST_PROXY,
    databaseUrl: env.DATABASE_URL,
    temporal: Object.freeze(readTemporal(env)),
    taskQueueSuffix: env.TASK_QUEUE_SUFFIX,
    workflowBundle: env.WORKFLOW_BUNDLE,
    pepper: env.KEY_PEPPER,
    keyEncryptionKeys: env.KEY_ENCRYPTION_KEYS,
    sandboxUrl: env.SANDBOX_URL,
    egressAllow: env.EGRESS_ALLOW,
    publicOrigin: env.PUBLIC_ORIGIN ?? `http://${env.HOST.includes(':') ? `[${env.HOST}]` : env.HOST}:${env.PORT}`,
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
function readS3(env: Environment) {
  const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_REGION: region } = env
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (endpoint && bucket && region && accessKeyId && secretAccessKey)
    return Object.freeze({ endpoint, bucket, region, accessKeyId, secretAccessKey })
  if (!endpoint && !bucket && !region && !accessKeyId && !secretAccessKey) return null
  throw unusable(['S3_ENDPOINT, S3_BUCKET, S3_REGION, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY: set all or none'])
}

/** Throws when a certificate has no key, or a key no certificate. */
function readTemporal(env: Environment) {
  const { TEMPORAL_TLS_CLIENT_CERT_PATH: crt, TEMPORAL_TLS_CLIENT_KEY_PATH: key } = env
  const { TEMPORAL_TLS_SERVER_CA_CERT_PATH: authority, TEMPORAL_TLS_SERVER_NAME: serverName } = env
  if (!crt !== !key) throw unusable(['TEMPORAL_TLS_CLIENT_CERT_PATH, TEMPORAL_TLS_CLIENT_KEY_PATH: set both or none'])
  const wanted = env.TEMPORAL_TLS ?? Boolean(env.TEMPORAL_API_KEY || crt || authority)
  return {
    address: env.TEMPORAL_ADDRESS ?? DEV_TEMPORAL,
    namespace: env.TEMPORAL_NAMESPACE,
    apiKey: env.TEMPORAL_API_KEY,
    tls: wanted && {
      ...(authority && { serverRootCACertificate: authority }),
      ...(serverName && { serverNameOverride: serverName }),
      ...(crt && key && { clientCertPair: { crt, key } }),
    },
  }
}

function unusable(problems: string[]): Error {
  return new Error(`The configuration is not usable. ${problems.join('; ')}`)
}

/** How long the delivery of a post waits for what; scaled down in tests. */
export type Pace = Config['pace']
