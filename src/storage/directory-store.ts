import { createReadStream, createWriteStream } from 'node:fs'
import { access, constants, mkdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { measure, requireKey, type BlobStore } from './blob-store.js'

/** Keeps files in a folder that every process sees, for one machine. */
export function createDirectoryStore(folder: string): BlobStore {
  const pathOf = (key: string) => join(folder, requireKey(key))
  const size = (key: string) =>
    stat(pathOf(key)).then(
      ({ size }) => size,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null
        throw error
      },
    )
  let looking: Promise<void> | null = null
  const look = async () => {
    // A folder that does not exist yet is made with the first file.
    if (!(await create())) await access(folder, constants.W_OK)
  }
  const create = async () => (await mkdir(folder, { recursive: true })) !== undefined
  return {
    size,
    async put(key, content) {
      const path = pathOf(key)
      await mkdir(dirname(path), { recursive: true })
      const passing = measure(content)
      try {
        // Flushed, so that a row never outlives its file.
        await pipeline(passing.content, createWriteStream(path, { flags: 'wx', flush: true }))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(path, { force: true })
        throw error
      }
      return passing.measured()
    },
    async get(key, range) {
      return (await size(key)) === null ? null : createReadStream(pathOf(key), range)
    },
    async delete(key) {
      await rm(pathOf(key), { force: true })
    },
    // One look at a time: each that hangs keeps one of the few threads that all files share.
    ping: () => (looking ??= look().finally(() => (looking = null))),
    create,
  }
}
