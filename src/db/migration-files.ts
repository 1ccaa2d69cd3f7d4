import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

export interface Migration {
  name: string
  text: string
}

/** This code's own. */
export const MIGRATIONS = new URL('./migrations/', import.meta.url)

/** In the order of their numbers. */
export async function readMigrations(folder = MIGRATIONS): Promise<Migration[]> {
  const names = (await readdir(fileURLToPath(folder))).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(new URL(name, folder), 'utf8') })))
}
