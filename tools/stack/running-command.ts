import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** The command line of a living process, null when there is none. A pid alone proves nothing: it may belong to someone else by now. */
export async function runningCommand(pid: number): Promise<string | null> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return null
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error // EPERM: alive, another user's
  }
  if (process.platform === 'linux') {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ESRCH') return '' // ended in between
      throw error
    })
    return command.replaceAll('\0', ' ').trim() || null // empty: a zombie
  }
  return promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout.trim() || null,
    (error: { code?: unknown }) => {
      if (error.code === 1) return null // ps knows no such process
      throw error
    },
  )
}
