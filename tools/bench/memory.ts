import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** What these processes hold in memory together (RSS), in MB of 2^20 bytes. */
export async function residentMb(pids: number[]): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', pids.join(',')])
  const kilobytes = stdout.trim().split(/\s+/).map(Number)
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1024
}
