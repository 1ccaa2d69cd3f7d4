import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** A pipe with a name: its reader may go away and come back, with the writer none the wiser until it writes. */
export async function makeFifo() {
  const folder = await mkdtemp(join(tmpdir(), 'relay-fifo-'))
  const path = join(folder, 'fifo')
  await promisify(execFile)('mkfifo', [path])
  let reader: number | null = null
  const chunk = Buffer.alloc(65_536)
  return {
    path,
    openReader: () => void (reader ??= openSync(path, O_RDONLY | O_NONBLOCK)),
    closeReader() {
      if (reader !== null) closeSync(reader)
      reader = null
    },
    openWriter: () => openSync(path, O_WRONLY | O_NONBLOCK),
    /** What has arrived; empty when nothing has. */
    read(): string {
      if (reader === null) return ''
      try {
        return chunk.toString('utf8', 0, readSync(reader, chunk))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return ''
        throw error
      }
    },
    async remove() {
      this.closeReader()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
