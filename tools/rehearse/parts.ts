import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { freePort } from '../stack/ports.js'
import { startPostgres } from '../stack/postgres.js'
import { findTemporal } from '../stack/temporal-cli.js'
import { startTemporal, type Temporal } from '../stack/temporal.js'
import { findVersitygw, startVersitygw } from '../stack/versitygw.js'

/** The standard parts that the product runs on, all of them real. */
export interface Parts {
  databaseUrl: string
  temporal: {
    address: string
    uiUrl(): string
    /** Kills the server, takes everything it knew, and starts it anew on the same port. */
    loseEverything(): Promise<void>
  }
  /** For `S3_*`; without any bucket. */
  s3: { endpoint: string; accessKeyId: string; secretAccessKey: string }
  stop(): Promise<void>
}

/** Starts PostgreSQL, Temporal and an S3 server, empty, with their data in `folder`. */
export async function startParts(folder: string, report: (line: string) => void): Promise<Parts> {
  const [temporalCli, versitygw] = [await findTemporal(report), await findVersitygw(report)]
  const started: { stop(): Promise<void> }[] = []
  const keep = <T extends { stop(): Promise<void> }>(part: T): T => {
    started.push(part)
    return part
  }
  const stop = async () => {
    for (const part of started.splice(0).reverse()) await part.stop()
  }
  try {
    const database = keep(await startPostgres({ dataDir: join(folder, 'postgres'), port: 0, durable: true }))
    const admin = postgres(database.url('postgres'), { max: 1 })
    await admin`create database relay`
    await admin.end()
    const temporal = keep(await startLosable(temporalCli, join(folder, 'temporal')))
    const s3 = keep(await startVersitygw({ binary: versitygw, folder: join(folder, 's3') }))
    return { databaseUrl: database.url('relay'), temporal, s3, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startLosable(binary: string, folder: string) {
  const [port, uiPort] = [await freePort(), await freePort()]
  const start = async () => {
    await mkdir(folder, { recursive: true })
    const databaseFile = join(folder, 'temporal.sqlite')
    // No search attributes and no namespace of ours: temporal-setup is to make both.
    return startTemporal({ binary, databaseFile, port, uiPort, searchAttributes: [], namespace: 'default' })
  }
  let server: Temporal = await start()
  return {
    address: server.address,
    uiUrl: () => server.uiUrl,
    async loseEverything() {
      await server.stop(0)
      await rm(folder, { recursive: true })
      server = await start()
    },
    stop: () => server.stop(),
  }
}
