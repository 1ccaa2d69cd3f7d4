import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { freePort } from '../../tools/stack/ports.js'
import { startPostgres, type Postgres } from '../../tools/stack/postgres.js'

/** A PostgreSQL of a test's own, that it may kill and start again on the same data and port. */
export async function startOwnPostgres(settings: string[] = []) {
  const folder = await mkdtemp(join(tmpdir(), 'relay-postgres-'))
  await chmod(folder, 0o711) // as root, PostgreSQL runs under another user, who must get in
  const port = await freePort()
  const start = () => startPostgres({ dataDir: join(folder, 'postgres'), port, durable: false, settings })
  let server: Postgres = await start()
  const admin = postgres(server.url('postgres'), { max: 1 })
  await admin`create database relay`
  await admin.end()
  return {
    url: server.url('relay'),
    kill: () => process.kill(server.pid, 'SIGKILL'),
    async startAgain() {
      server = await start()
    },
    async remove() {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
