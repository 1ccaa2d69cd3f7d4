import { readFile, rename, writeFile } from 'node:fs/promises'

/**
 * The in-memory PLC database, with its operations kept in a file: accounts survive a restart on the same data.
 * `Database` is that of @did-plc/server.
 */
export async function openKeptDirectory(Database, file) {
  const database = Database.mock()
  const kept = await readKept(file)
  for (const [did, operation] of kept) await database.validateAndAddOp(did, operation)

  const add = database.validateAndAddOp.bind(database)
  let writing = Promise.resolve()
  database.validateAndAddOp = async (did, operation) => {
    await add(did, operation)
    kept.push([did, operation])
    // One after the other, and by rename: a kill in the middle leaves the whole file of before.
    writing = writing.then(async () => {
      await writeFile(`${file}.new`, JSON.stringify(kept))
      await rename(`${file}.new`, file)
    })
    await writing
  }
  return database
}

async function readKept(file) {
  return readFile(file, 'utf8').then(JSON.parse, (error) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
