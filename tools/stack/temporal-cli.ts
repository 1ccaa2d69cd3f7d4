import { access, constants, mkdir, readFile, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildTemporal } from './temporal-build.js'
import { downloadTemporal } from './temporal-download.js'

/** The folder whose go.mod says which version of the Temporal CLI this project runs. */
const moduleFolder = fileURLToPath(new URL('../temporal/', import.meta.url))

/** Path of a Temporal CLI: named, installed, cached, downloaded or built, in this order. `report` gets a line per slow step.
 *  Throws one sentence that says what is missing and how to get it. */
export async function findTemporal(
  report: (line: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  if (env.TEMPORAL_CLI) return namedByUser(env.TEMPORAL_CLI)

  const installed = await findOnPath('temporal', env)
  if (installed) return installed

  const version = await wantedVersion()
  const folder = join(env.XDG_CACHE_HOME || join(env.HOME || userInfo().homedir, '.cache'), 'relay-and-sign')
  const binary = join(folder, `temporal-${version}-${process.platform}-${process.arch}`)
  if (await isExecutable(binary)) return binary

  await makeCache(folder)
  const download = await downloadTemporal({ version, binary, report, env })
  if (download.done) return binary

  const go = await findOnPath('go', env)
  if (go) {
    await buildTemporal({ go, moduleFolder, version, binary, report, env })
    return binary
  }
  throw new Error(
    `There is no Temporal server here: no temporal and no go on PATH, and the download of Temporal CLI ${version} failed (${download.reason}). ` +
      'Install Go 1.25 or newer or the Temporal CLI (https://docs.temporal.io/cli), set TEMPORAL_CLI to its path, or point TEMPORAL_ADDRESS at a running server.',
  )
}

async function namedByUser(path: string): Promise<string> {
  if (await isExecutable(path)) return path
  throw new Error(`TEMPORAL_CLI is set to ${path}, which is not a program that can be run; correct it or unset it.`)
}

async function makeCache(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
  } catch (error) {
    throw new Error(
      `Temporal cannot be kept in ${folder}, which is not writable; set XDG_CACHE_HOME to a folder that is.`,
      { cause: error },
    )
  }
}

async function wantedVersion(): Promise<string> {
  const goMod = await readFile(join(moduleFolder, 'go.mod'), 'utf8')
  const version = /github\.com\/temporalio\/cli v(\S+)/.exec(goMod)?.[1]
  if (!version)
    throw new Error(
      'tools/temporal/go.mod names no version of github.com/temporalio/cli; put it back from version control.',
    )
  return version
}

async function findOnPath(name: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  for (const folder of (env.PATH ?? '').split(delimiter).filter(Boolean)) {
    const path = join(folder, name)
    if (await isExecutable(path)) return path
  }
  return null
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code) return false // absent or not permitted: either way not usable
    throw error
  }
}
