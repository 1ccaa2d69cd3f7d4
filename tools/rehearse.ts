import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { RelayClient } from './demo/client.js'
import { Facts } from './demo/facts.js'
import { playDemo } from './demo/play.js'
import { startReceiver } from './demo/receiver.js'
import { buildImage } from './rehearse/build-image.js'
import { Fleet } from './rehearse/fleet.js'
import { findNode24 } from './rehearse/node-24.js'
import { startParts, type Parts } from './rehearse/parts.js'
import { operate, playDrill, playRollingRestart } from './rehearse/scenes.js'
import { freePort } from './stack/ports.js'

const NAMESPACE = 'rehearsal'
const begun = performance.now()
const say = (line: string) =>
  void process.stdout.write(
    line.startsWith('\n')
      ? `\n[${((performance.now() - begun) / 1_000).toFixed(0)} s] ${line.slice(1)}\n`
      : `${line}\n`,
  )
const project = fileURLToPath(new URL('..', import.meta.url))

/** A folder that whoever the processes run as may read. */
async function openFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true })
  await chmod(path, 0o755)
  return path
}

/** What docker-compose.yml gives every container of ours, for parts on this machine. */
async function productEnvironment({ databaseUrl, temporal, s3 }: Parts, egressAllow: string) {
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  const [first, second, sandbox] = ports.map((port) => `http://127.0.0.1:${port}`)
  const env = {
    HOST: '127.0.0.1',
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: NAMESPACE,
    PUBLIC_ORIGIN: first,
    KEY_PEPPER: randomBytes(32).toString('hex'),
    KEY_ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    S3_ENDPOINT: s3.endpoint,
    S3_BUCKET: 'relay-and-sign',
    S3_REGION: 'us-east-1',
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    SANDBOX_URL: sandbox,
    EGRESS_ALLOW: egressAllow,
    LOG_LEVEL: 'warn',
    METRICS_PORT: '0',
  }
  return { env, ports, apis: [first ?? '', second ?? ''] }
}

async function rehearse(folder: string, facts: Facts): Promise<void> {
  say('\nThe image: the steps of the Dockerfile')
  const nodeFolder = await openFolder(join(folder, 'node'))
  const node = join(nodeFolder, 'node')
  await cp(await findNode24(say), node)
  const image = await buildImage({ project, folder: await openFolder(join(folder, 'image')), nodeFolder, report: say })

  say('\nPostgreSQL, Temporal and an S3 server, empty')
  const receiver = await startReceiver()
  const parts = await startParts(await openFolder(join(folder, 'parts')), say)
  const { env, ports, apis } = await productEnvironment(parts, receiver.host)
  const fleet = new Fleet({ image, node, env, report: say })
  const sql = postgres(parts.databaseUrl, { max: 2 })
  try {
    say('\nProduction mode refuses what is of development')
    const unfit = { KEY_PEPPER: '', CRASH_AT: 'attempt.sent', PORT: '0' }
    const refused = await fleet.run(image.command, unfit).then(
      () => 'it started',
      (error: Error) => error.message,
    )
    const sentence = /Not fit for production\..*/.exec(refused)?.[0] ?? refused
    say(`      ${sentence}`)
    facts.check('it names both, and did not start', /KEY_PEPPER.*CRASH_AT/.test(sentence))

    say('\nThe jobs of a deployment')
    for (const line of await fleet.run(['node', 'dist/src/db/run-migrations.js'])) say(`      ${line}`)
    await operate({ fleet, say }, 'temporal-setup', '--retention', '3')
    await operate({ fleet, say }, 'storage-setup')

    say('\nTwo APIs, two workers, and one more API as the sandbox destination')
    const [first, second, sandbox] = ports.map(String)
    const metricsPort = String(await freePort())
    await Promise.all([
      fleet.start('api 1', { PORT: first, METRICS_PORT: metricsPort }),
      fleet.start('api 2', { PORT: second }),
      fleet.start('sandbox', { PORT: sandbox }),
      ...['worker 1', 'worker 2'].map((name) => fleet.start(name, {}, ['node', 'dist/temporal/worker.js'])),
    ])
    const [organisation = ''] = await operate({ fleet, say }, 'org', 'create', 'Rehearsal', '--plan', 'enterprise')
    const [key = ''] = await operate({ fleet, say }, 'key', 'create', organisation, '--name', 'rehearsal')
    await fleet.run(image.healthcheck, { METRICS_PORT: metricsPort }).then(
      () => facts.check("the image's own health check passes", true),
      (error: Error) => facts.check(`the image's own health check passes (${error.message})`, false),
    )

    const client = new RelayClient(apis[0] ?? '', key)
    await playDemo(
      { api: apis[0] ?? '', key, runs: `${parts.temporal.uiUrl()}/namespaces/${NAMESPACE}/workflows`, facts, say },
      { bluesky: null, receiver },
    )
    const { data: connection } = await client.call<{ id: string }>('POST', '/v1/connections', {
      platform: 'sandbox',
      fields: { name: 'load' },
    })
    const stage = { fleet, parts, sql, apis, client, key, connectionId: connection.id, facts, say }
    await playRollingRestart(stage)
    await playDrill(stage)

    say('\nThe doctor')
    await operate(stage, 'doctor').then(
      () => facts.check('nothing is wrong', true),
      (error: Error) => facts.check(error.message, false),
    )

    say('\nThe end')
    await fleet.stop()
    facts.check(
      `every process that was asked to end did so in good order (${fleet.ends.join(', ')})`,
      fleet.ends.every((code) => code === 0),
    )
  } finally {
    await fleet.stop()
    await sql.end({ timeout: 5 })
    await parts.stop()
    receiver.stop()
  }
}

const folder = await openFolder(await mkdtemp(join(tmpdir(), 'relay-rehearsal-')))
// Also where Ctrl-C ends it: there are two sets of packages in it. What was started in it is killed before (`startChild`), and may write a moment longer.
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
try {
  const facts = new Facts()
  await rehearse(folder, facts)
  say(`\nDone\n${facts.summary()}`)
  process.exitCode = facts.allHeld ? 0 : 1
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
process.exit()
