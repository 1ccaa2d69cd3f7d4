import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey, createOrganisation } from '../../src/accounts/repository.js'
import type { Limits, PlanCode } from '../../src/accounts/plans.js'
import { SCOPES, type Scope } from '../../src/accounts/schema.js'
import { DEV_ONLY_PEPPER } from '../../src/config.js'
import type { CrashPoint } from '../../src/crash-points.js'
import type { Database } from '../../src/db/client.js'
import type { Attempt, Delivery } from '../../src/relay/deliveries/schema.js'
import type { Media } from '../../src/relay/media/schema.js'
import type { Post } from '../../src/relay/posts/schema.js'
import type { NodeProcess } from '../../tools/stack/node-process.js'
import { freePort } from '../../tools/stack/ports.js'
import { startService } from '../../tools/stack/services.js'
import { describeRoutes } from '../../api/openapi.js'
import { relayRoutes } from '../../api/relay/index.js'
import { Contract } from './contract.js'
import { createTestDatabase, type TestDatabase } from './database.js'
import { until } from './until.js'

/** Every answer in every test is held against the document. */
const contract = new Contract(describeRoutes(relayRoutes))

/** Every delay of the product, scaled down (decisions.md 6: no test sleeps through one). */
export const FAST = {
  CALL_TIMEOUT_MS: '2000',
  CALL_GRACE_MS: '1000',
  LOOK_UP_FOR_MS: '4000',
  RETRY_FIRST_MS: '50',
  WEBHOOK_TIMEOUT_MS: '1500',
  WEBHOOK_GRACE_MS: '1000',
  WEBHOOK_TIME_SCALE: '0.001',
  OUTBOX_POLL_MS: '100',
  OUTBOX_LEASE_MS: '2000',
  SWEEP_EVERY_MS: '300',
  SWEEP_OVERDUE_MS: '1000',
  DRAIN_MS: '0',
  METRICS_PORT: '0',
}

export interface Answer<T = unknown> {
  status: number
  headers: Headers
  body: { data: T; meta: unknown; error: { code: string; message: string; details: Record<string, unknown> } }
}

interface UploadOptions {
  filename?: string
  alt?: string
  headers?: Record<string, string>
}

/** One organisation with a key of it, able to call the API. */
export class Tenant {
  constructor(
    private readonly app: App,
    readonly organisationId: string,
    readonly keyId: string,
    readonly key: string,
  ) {}

  call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer<T>> {
    return this.app.call<T>(method, path, body, { authorization: `Bearer ${this.key}`, ...headers })
  }

  upload<T = Media>(
    bytes: Uint8Array,
    { filename = 'file', alt, headers = {} }: UploadOptions = {},
  ): Promise<Answer<T>> {
    const form = new FormData()
    form.set('file', new File([bytes], filename))
    if (alt !== undefined) form.set('alt', alt)
    return this.call<T>('POST', '/v1/media', form, headers)
  }

  async connect(name = 'account'): Promise<string> {
    const { body } = await this.call<{ id: string }>('POST', '/v1/connections', {
      platform: 'sandbox',
      fields: { name },
    })
    return body.data.id
  }

  async post(text: string, connectionIds: string[], more: Record<string, unknown> = {}): Promise<Post> {
    const { body } = await this.call<Post>('POST', '/v1/posts', {
      content: { text },
      connection_ids: connectionIds,
      ...more,
    })
    if (!body.data) throw new Error(JSON.stringify(body.error))
    return body.data
  }

  async read(postId: string): Promise<Post> {
    return (await this.call<Post>('GET', `/v1/posts/${postId}`)).body.data
  }

  async settled(postId: string, withinMs?: number): Promise<Post> {
    return until(
      `post ${postId} is settled`,
      async () => this.read(postId).then((post) => (post.settled_at ? post : null)),
      withinMs,
    )
  }

  async attempts(delivery: Pick<Delivery, 'id'>): Promise<Attempt[]> {
    return (await this.call<Attempt[]>('GET', `/v1/deliveries/${delivery.id}/attempts`)).body.data
  }
}

/** The product on a database of its own: api and worker as child processes that a test may kill. */
export class App {
  api: NodeProcess | null = null
  worker: NodeProcess | null = null
  /** Every line the processes wrote. */
  readonly logs: string[] = []
  private readonly children: NodeProcess[] = []

  constructor(
    readonly database: TestDatabase,
    readonly port: number,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  /** Where both processes keep files. */
  readonly mediaDir = join(tmpdir(), `relay-media-${randomBytes(6).toString('hex')}`)

  /** What both processes are started with, and what an operator's command has. */
  get environment(): NodeJS.ProcessEnv {
    return { MEDIA_DIR: this.mediaDir, ...this.env }
  }

  get sql(): Database {
    return this.database.sql
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async startApi(env: NodeJS.ProcessEnv = {}): Promise<NodeProcess> {
    return (this.api = await this.start('api', env))
  }

  async startWorker(env: NodeJS.ProcessEnv = {}): Promise<NodeProcess> {
    return (this.worker = await this.start('worker', env))
  }

  private async start(name: 'api' | 'worker', env: NodeJS.ProcessEnv): Promise<NodeProcess> {
    const child = await startService(name, { ...this.environment, ...env }, (line) => {
      this.logs.push(line)
      if (process.env.SHOW_LOGS) process.stderr.write(`${line}\n`)
    })
    this.children.push(child)
    return child
  }

  async call<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === 'string' || body instanceof FormData ? body : JSON.stringify(body),
      }),
    })
    const answer = (await response.json()) as Answer<T>['body']
    contract.check(method, path, response.status, answer)
    return { status: response.status, headers: response.headers, body: answer }
  }

  /** Without a rate limit, as a test asks far more often than an integrator, unless one is given. */
  async tenant(
    scopes: Scope[] = [...SCOPES],
    { limits = {}, plan = 'scale' }: { limits?: Partial<Limits>; plan?: PlanCode } = {},
  ): Promise<Tenant> {
    const generous = { requests_per_minute: -1, ...limits }
    const organisationId = await createOrganisation(this.sql, { name: 'Test', plan, limits: generous })
    const { id, key } = await createKey(this.sql, organisationId, { name: 'test', scopes, pepper: DEV_ONLY_PEPPER })
    return new Tenant(this, organisationId, id, key)
  }

  /** How often the sandbox took this text: the judge of lost and doubled. */
  async timesAccepted(text: string): Promise<number> {
    const [row] = await this.sql<[{ count: number }]>`
      select count(*)::int as count from sandbox_requests where text = ${text} and outcome = 'accepted'`
    return row.count
  }

  async stop(): Promise<void> {
    await Promise.all(this.children.map((child) => child.stop()))
    await Promise.all([this.database.drop(), rm(this.mediaDir, { recursive: true, force: true })])
  }
}

/** The product, ready; `api` or `worker` false leaves that one for the test to start. */
export async function startApp({
  api = true,
  worker = true,
  env = {},
}: { api?: boolean; worker?: boolean; env?: NodeJS.ProcessEnv } = {}): Promise<App> {
  const [database, port] = await Promise.all([createTestDatabase(), freePort()])
  const app = new App(database, port, {
    ...FAST,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
    TASK_QUEUE_SUFFIX: `-${new URL(database.url).pathname.slice(1)}`,
    SANDBOX_URL: `http://127.0.0.1:${port}`,
    LOG_LEVEL: 'warn',
    PORT: String(port),
    ...env,
  })
  await Promise.all([api && app.startApi(), worker && app.startWorker()])
  return app
}

/** Waits until the process has been killed by its own crash point. */
export async function untilCrashed(child: NodeProcess, point: CrashPoint): Promise<void> {
  await until(`a crash at ${point}`, () => child.process.signalCode === 'SIGKILL')
}
