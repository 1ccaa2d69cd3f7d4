import { createServer, type AddressInfo } from 'node:net'
import { DefaultLogger, Runtime } from '@temporalio/worker'
import { createInnerClient } from '../src/egress/inner.js'
import type { Log } from '../src/log.js'

const SCRAPE_WITHIN_MS = 3_000
const TRIES = 5

/** Installs the SDK's runtime with its own metrics on a free loopback port; answers a source that reads them.
 *  Shutdown is ours (runProcess): the runtime's own signal handlers would race it. */
export async function installRuntime(log: Log): Promise<() => Promise<string>> {
  const logger = new DefaultLogger('WARN', (entry) => log.warn(entry.meta ?? {}, entry.message))
  for (let tries = 1; ; tries++) {
    const port = await findFreePort()
    const bindAddress = `127.0.0.1:${port}`
    try {
      Runtime.install({
        logger,
        shutdownSignals: [],
        telemetryOptions: {
          metrics: { prometheus: { bindAddress } },
          // What its native part says goes through our log too, or it would be written past it: unread for secrets, and not counted when lost.
          logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
        },
      })
      return sdkSource(port)
    } catch (error) {
      if (tries === TRIES) throw error
      log.warn({ error, port }, 'runtime.port_taken') // by another program, between our look and the SDK's
    }
  }
}

/** The exporter takes port 0 too, but never says which one it got. */
async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function sdkSource(port: number): () => Promise<string> {
  const client = createInnerClient()
  const ask = { origin: `http://127.0.0.1:${port}`, path: '/metrics', method: 'GET' } as const
  return async () => {
    const { statusCode, body } = await client.request({ ...ask, signal: AbortSignal.timeout(SCRAPE_WITHIN_MS) })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`The exporter of the Temporal SDK answered ${statusCode}`)
    return text
  }
}
