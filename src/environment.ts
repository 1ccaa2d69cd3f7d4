import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { CRASH_POINTS, CRASH_SIGNALS } from './crash-points.js'
import { readTrustedProxies } from './trusted-proxies.js'

/** Development's own pepper and key-encryption key: the same everywhere, so nothing kept with them is secret. Production refuses them. */
export const DEV_ONLY_PEPPER = 'dev-only-pepper'
export const DEV_ONLY_KEY = Buffer.from('dev-only-key-encryption-key-0001')
const DEV_ONLY_KEY_ENCRYPTION_KEYS = `dev-only:${DEV_ONLY_KEY.toString('base64')}`

/** The headings of docs/operating/configuration.md, in order. */
export const GROUPS = [
  'Where things are',
  'Secrets',
  'Files',
  'Temporal',
  'The API',
  'Watching it',
  'How much at once',
  'How long things may take',
  'For development and tests',
] as const

/** What the configuration reference says of a variable beside its shape. */
export interface VariableFacts {
  group: (typeof GROUPS)[number]
  description: string
  /** Why production does not start: without it, or with which values. */
  production?: string
}

/** The most that a timer of Node takes; beyond it a wait would not be one. */
const LONGEST_MS = 2 ** 31 - 1
const duration = z.coerce.number().int().max(LONGEST_MS)
const milliseconds = (fallback: number) => duration.min(0).default(fallback)
/** Of a loop: without any it would never rest. */
const interval = (fallback: number) => duration.min(1).default(fallback)
const count = (fallback: number) => z.coerce.number().int().min(1).default(fallback)
const port = z.coerce.number().int().min(0).max(65535)
const httpUrl = z.url({ protocol: /^https?$/ })
const hostAndPort = z
  .string()
  .regex(/^([^\s:/]+|\[[0-9a-f:]+\]):[1-9]\d{0,4}$/i, 'must be host:port')
  .refine((text) => Number(/\d+$/.exec(text)?.[0]) <= 65_535, 'must be host:port')

/** As the driver will read it: it takes a missing host for this machine, and fails on an escape that is none. */
const databaseUrl = z.url({ protocol: /^postgres(ql)?$/ }).pipe(
  z.string().refine((text) => {
    try {
      const { hostname, pathname } = new URL(text)
      return hostname !== '' && pathname.length > 1 && decodeURIComponent(text) !== ''
    } catch {
      return false // said below
    }
  }, 'must be postgres://user:password@host:5432/database, with other characters percent-encoded'),
)

const list = (text: string) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)

const isOrigin = (text: string) => `${new URL(text).origin}/` === new URL(text).href
const origin = httpUrl.pipe(
  z
    .string()
    .refine(isOrigin, 'must be an origin: scheme, host, port and nothing else')
    .transform((text) => new URL(text).origin),
)

const keyEncryptionKeys = z.string().transform((text, context) => {
  const keys = list(text).map((entry) => {
    const [id = '', encoded = ''] = entry.split(':')
    return { id, key: Buffer.from(encoded, 'base64') }
  })
  const wellFormed = keys.every(({ id, key }) => /^[A-Za-z0-9_-]+$/.test(id) && key.length === 32)
  if (keys.length === 0 || !wellFormed || new Set(keys.map(({ id }) => id)).size < keys.length)
    context.addIssue(
      'must be a list of id:base64 with 32 bytes each and ids of letters, digits, _ and -, each once; the first one encrypts',
    )
  return keys
})

const trustedProxies = z.string().transform((text, context) => {
  const proxies = readTrustedProxies(text)
  if (proxies === null) context.addIssue('must be a number of proxies or a list of their addresses and ranges')
  return proxies ?? false
})

const file = z.string().transform((path, context) => {
  try {
    return readFileSync(path)
  } catch (error) {
    context.addIssue(`names a file that cannot be read (${String((error as NodeJS.ErrnoException).code)})`)
    return z.NEVER
  }
})

const say = <T extends z.ZodType>(
  schema: T,
  group: VariableFacts['group'],
  description: string,
  production?: string,
): T => schema.meta({ group, description, ...(production && { production }) } satisfies VariableFacts)

/** Every variable that api, worker, migrations and the operator's commands read. */
export const Environment = z.object({
  NODE_ENV: say(
    z.enum(['production', 'development', 'test']).default('development'),
    'Where things are',
    'With `production` a start is refused where something of development is left.',
  ),
  PUBLIC_ORIGIN: say(
    origin.optional(),
    'Where things are',
    'Where callers reach the API, as `https://relay.example`; addresses in answers begin with it. Default: `http://HOST:PORT`.',
    'is needed, with https unless it is this machine itself',
  ),
  DATABASE_URL: say(
    databaseUrl,
    'Where things are',
    'PostgreSQL (the tests run on 18), as `postgres://user:password@host:5432/database`; `?sslmode=verify-full` asks for TLS.',
  ),
  TEMPORAL_ADDRESS: say(
    hostAndPort.optional(),
    'Where things are',
    'host:port of the gRPC service of Temporal. Default: `127.0.0.1:7233`.',
    'is needed',
  ),
  SANDBOX_URL: say(
    httpUrl.optional(),
    'Where things are',
    'Where the sandbox destination answers, as an API process reaches itself; without it there is no sandbox.',
  ),
  KEY_PEPPER: say(
    z.string().min(1).default(DEV_ONLY_PEPPER),
    'Secrets',
    'Part of what every API key is hashed with, and what addresses of files are signed with. A change ends all keys.',
    'must be a secret of your own, 32 characters or more',
  ),
  KEY_ENCRYPTION_KEYS: say(
    keyEncryptionKeys.prefault(DEV_ONLY_KEY_ENCRYPTION_KEYS),
    'Secrets',
    'Keys that credentials are encrypted under: `id:base64` of 32 bytes each, comma between; the first encrypts, all decrypt.',
    'must be keys of your own',
  ),
  S3_ENDPOINT: say(
    httpUrl.optional(),
    'Files',
    'Address of the object store. With the four variables below: all five or none.',
    'or `MEDIA_DIR` is needed',
  ),
  S3_BUCKET: say(
    z.string().optional(),
    'Files',
    'The bucket. `npm run ops -- storage-setup` makes it. The key needs s3:ListBucket for readiness, and s3:GetObject, s3:PutObject, s3:DeleteObject.',
  ),
  S3_REGION: say(z.string().optional(), 'Files', 'Its region, as the store calls it.'),
  S3_ACCESS_KEY_ID: say(z.string().optional(), 'Files', 'Who reads and writes there.'),
  S3_SECRET_ACCESS_KEY: say(z.string().optional(), 'Files', 'And the secret of that key.'),
  MEDIA_DIR: say(
    z.string().optional(),
    'Files',
    'A folder for files instead of a bucket, which every API and worker process must see. Default: `.data/media`.',
  ),
  TEMPORAL_NAMESPACE: say(
    z.string().default('default'),
    'Temporal',
    'The namespace all runs are in. `npm run ops -- temporal-setup` makes it.',
  ),
  TASK_QUEUE_SUFFIX: say(z.string().default(''), 'Temporal', 'Keeps two stacks in one namespace apart.'),
  TEMPORAL_TLS: say(
    z.stringbool().optional(),
    'Temporal',
    '`true` asks for TLS. Default: on with an API key, a certificate or an authority, off otherwise.',
  ),
  TEMPORAL_API_KEY: say(z.string().optional(), 'Temporal', 'An API key of Temporal Cloud.'),
  TEMPORAL_TLS_CLIENT_CERT_PATH: say(
    file.optional(),
    'Temporal',
    'PEM file with the certificate this side shows (mTLS); with the key below, or neither.',
  ),
  TEMPORAL_TLS_CLIENT_KEY_PATH: say(file.optional(), 'Temporal', 'PEM file with its key.'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: say(
    file.optional(),
    'Temporal',
    "PEM file with the authority of the server's certificate, where it is not a public one.",
  ),
  TEMPORAL_TLS_SERVER_NAME: say(
    z.string().optional(),
    'Temporal',
    "The name in the server's certificate, where it is not the host's.",
  ),
  WORKFLOW_BUNDLE: say(
    z.string().optional(),
    'Temporal',
    'The workflows as one file, as `npm run build` makes them; without it a worker bundles at its start.',
  ),
  HOST: say(z.string().default('127.0.0.1'), 'The API', 'Address the API listens on. In the image: `0.0.0.0`.'),
  PORT: say(port.default(8080), 'The API', 'Port of the API; 0 picks a free one.'),
  TRUST_PROXY: say(
    trustedProxies.prefault(''),
    'The API',
    "Whose `X-Forwarded-For` counts: a number of proxies, or their addresses and ranges. Default: nobody's.",
  ),
  DRAIN_MS: say(
    milliseconds(5_000).refine((value) => value <= 15_000, 'must leave 45 s of the 60 s between SIGTERM and SIGKILL'),
    'The API',
    'How long an API process that was asked to end goes on serving while whoever sends it requests notices; 15,000 at the most.',
  ),
  METRICS_HOST: say(
    z.string().default('127.0.0.1'),
    'Watching it',
    'Address of the port for operators: `/metrics`, `/healthz`, `/readyz`.',
  ),
  METRICS_PORT: say(port.optional(), 'Watching it', 'That port; 0 picks a free one. Default: API 9464, worker 9465.'),
  LOG_LEVEL: say(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    'Watching it',
    'The least a line of the log must be.',
  ),
  PUBLISH_SLOTS: say(count(100), 'How much at once', 'Deliveries one worker process works on at once.'),
  PLATFORM_CONCURRENCY: say(count(25), 'How much at once', 'Of these, calls to one platform.'),
  WEBHOOK_SLOTS: say(
    count(500),
    'How much at once',
    'Webhook endpoints one worker process sends to at once; for healthy and failing ones each.',
  ),
  CALL_TIMEOUT_MS: say(
    milliseconds(30_000).refine((value) => value <= 40_000, 'must leave 15 s of the 60 s an attempt may take'),
    'How long things may take',
    'One call to a platform; 40,000 at the most.',
  ),
  CALL_GRACE_MS: say(
    milliseconds(5_000),
    'How long things may take',
    'How much longer a call that was cut off is waited for before the platform is asked about it.',
  ),
  LOOK_UP_FOR_MS: say(
    milliseconds(24 * 3_600_000),
    'How long things may take',
    'How long a platform that does not answer is asked about an unknown outcome before it counts as one that cannot be asked.',
  ),
  RETRY_FIRST_MS: say(
    milliseconds(5_000),
    'How long things may take',
    'The wait before the second attempt; it doubles.',
  ),
  RETRY_LONGEST_MS: say(milliseconds(15 * 60_000), 'How long things may take', 'The longest wait between attempts.'),
  FETCH_TIMEOUT_MS: say(
    milliseconds(60_000).refine((value) => value <= 60_000, 'must fit into an attempt'),
    'How long things may take',
    'The whole of a file that a post names by its address; 60,000 at the most.',
  ),
  PAUSE_WAIT_MS: say(
    milliseconds(3_600_000),
    'How long things may take',
    'How long the run of a paused delivery waits before it looks by itself; lifting the pause wakes it.',
  ),
  FULL_RETRY_MS: say(
    interval(500),
    'How long things may take',
    'The shortest wait of a delivery whose platform has no slot free.',
  ),
  WEBHOOK_TIMEOUT_MS: say(
    milliseconds(15_000).refine((value) => value <= 20_000, 'must leave time of the 60 s a batch may take'),
    'How long things may take',
    'One attempt to tell a webhook endpoint; 20,000 at the most.',
  ),
  WEBHOOK_GRACE_MS: say(
    milliseconds(5_000),
    'How long things may take',
    'How much longer a worker that died keeps what it was sending.',
  ),
  OUTBOX_POLL_MS: say(
    interval(1_000),
    'How long things may take',
    'How often a process looks for lines in the outbox that nobody told it of.',
  ),
  OUTBOX_LEASE_MS: say(
    interval(30_000),
    'How long things may take',
    'How long a process that died keeps the lines it had taken.',
  ),
  SWEEP_EVERY_MS: say(
    interval(60_000),
    'How long things may take',
    'How often a process looks for what was left behind.',
  ),
  SWEEP_OVERDUE_MS: say(
    milliseconds(120_000),
    'How long things may take',
    'How late something must be to count as left behind.',
  ),
  EGRESS_ALLOW: say(
    z.string().default('').transform(list),
    'For development and tests',
    'Servers that tenants may name although they are not public, as `host:port`, comma between.',
    'is refused unless `PUBLIC_ORIGIN` is this machine itself: it would open the inside of your network',
  ),
  WEBHOOK_TIME_SCALE: say(
    z.coerce.number().positive().max(1).default(1),
    'For development and tests',
    'Every delay between attempts at a webhook is multiplied by it.',
    'must be 1',
  ),
  CRASH_AT: say(
    z.enum(CRASH_POINTS).optional(),
    'For development and tests',
    'The point at which a process kills itself.',
    'is refused',
  ),
  CRASH_WITH: say(z.enum(CRASH_SIGNALS).default('SIGKILL'), 'For development and tests', 'The signal it does so with.'),
})
export type Environment = z.infer<typeof Environment>
