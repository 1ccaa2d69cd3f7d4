import { randomBytes } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { startChild, succeeded } from './child.js'

export interface TemporalBuild {
  go: string
  moduleFolder: string
  version: string
  /** Where the finished program goes. */
  binary: string
  report: (line: string) => void
  env: NodeJS.ProcessEnv
}

/** Builds the Temporal CLI from the module that `moduleFolder` pins. Throws one sentence with the compiler's last lines. */
export async function buildTemporal({ go, moduleFolder, version, binary, report, env }: TemporalBuild): Promise<void> {
  report(
    `Building Temporal ${version} with Go. This takes about 5 minutes, once; the result is kept in ${dirname(binary)}.`,
  )
  const begun = Date.now()
  const progress = setInterval(
    () => report(`Still building Temporal: ${Math.round((Date.now() - begun) / 1000)} s so far.`),
    15_000,
  )
  // A name of its own and a rename: two builds at once end with one whole file.
  const unfinished = `${binary}.${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    const build = await startChild({
      name: 'go build',
      command: go,
      args: [
        'build',
        '-trimpath',
        '-ldflags',
        `-s -w -X github.com/temporalio/cli/temporalcli.Version=${version}`,
        '-o',
        unfinished,
        'github.com/temporalio/cli/cmd/temporal',
      ],
      cwd: moduleFolder,
      env: { ...env, GOWORK: 'off' }, // a workspace file in a folder above is not ours
    })
    await succeeded(
      build,
      `Temporal ${version} could not be built with Go; install the Temporal CLI, set TEMPORAL_CLI to its path, or point TEMPORAL_ADDRESS at a running server`,
    )
    await rename(unfinished, binary)
    report(`Temporal ${version} is built (${Math.round((Date.now() - begun) / 1000)} s).`)
  } finally {
    clearInterval(progress)
    await rm(unfinished, { force: true })
  }
}
