import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, stat } from 'node:fs/promises'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import dockerignore from '@balena/dockerignore'
import { Environment } from '../../src/environment.js'
import { startChild, succeeded } from '../stack/child.js'
import { readDockerfile, type Stage, type Step } from './dockerfile.js'

const run = promisify(execFile)

/** What the last stage of a Dockerfile leaves. */
export interface Image {
  /** Folder that stands for WORKDIR. */
  workdir: string
  env: Record<string, string>
  command: string[]
  healthcheck: string[]
}

interface Build {
  /** The project, with its Dockerfile. */
  project: string
  /** An empty folder; each stage gets one of its own in it. */
  folder: string
  /** Folder with the `node` that every stage runs on. */
  nodeFolder: string
  report: (line: string) => void
}

/** Carries out the steps of the Dockerfile, stage by stage, each in a folder that stands for its file system. Packages of the system are the one thing that is
 *  left out, and said. Throws when a step fails. */
export async function buildImage(build: Build): Promise<Image> {
  const stages = readDockerfile(await readFile(join(build.project, 'Dockerfile'), 'utf8'))
  let image: Image | null = null
  for (const stage of stages) {
    if (!/^node:24(\.|-|$)/.test(stage.image)) throw new Error(`The rehearsal runs on Node 24, not on ${stage.image}.`)
    image = await buildStage(build, stage)
  }
  const last = stages.at(-1)
  if (!image || !last) throw new Error('The Dockerfile has no stage.')
  if (!last.user || last.user === 'root') throw new Error('The image would run as root: its last stage names no USER.')
  return image
}

async function buildStage(build: Build, stage: Stage): Promise<Image> {
  const root = join(build.folder, stage.name)
  await mkdir(root)
  const image: Image = { workdir: root, env: {}, command: stage.command, healthcheck: stage.healthcheck }
  for (const step of stage.steps) await carryOut({ ...build, root, image }, step)
  return image
}

type Building = Build & { root: string; image: Image }

async function carryOut(building: Building, step: Step): Promise<void> {
  const { image, root, report } = building
  switch (step.kind) {
    case 'workdir':
      image.workdir = join(root, resolve('/', step.path))
      return void (await mkdir(image.workdir, { recursive: true }))
    case 'env':
      return void Object.assign(image.env, step.variables)
    case 'copy':
      return step.from === null ? copyContext(building, step) : copyStage(building, { ...step, from: step.from })
    case 'run':
      if (step.command.startsWith('apt-get')) return report(`    left out: ${step.command}`)
      report(`    ${step.command}`)
      return runStep(building, step.command)
  }
}

type CopyStep = Extract<Step, { kind: 'copy' }>

/** From another stage: what a folder holds goes into the folder that is named. */
async function copyStage(
  { folder, image }: Building,
  { from, sources, to }: CopyStep & { from: string },
): Promise<void> {
  for (const source of sources) {
    const target = resolve(image.workdir, to)
    await mkdir(target, { recursive: true })
    // With links as they are; Node's own copy takes several times as long for as many files.
    await run('cp', ['-RpP', `${join(folder, from, source)}/.`, target])
  }
}

/** From the project: what is in version control or about to be, less what .dockerignore names. */
async function copyContext({ project, image }: Building, { sources, to }: CopyStep): Promise<void> {
  const files = await listContext(project)
  for (const source of sources) {
    const isFolder = source === '.' || (await stat(join(project, source))).isDirectory()
    const inside = files.filter((file) =>
      isFolder ? source === '.' || file.startsWith(`${source}/`) : file === source,
    )
    if (inside.length === 0) throw new Error(`COPY ${source}: there is no such file for the image.`)
    for (const file of inside) {
      const name = isFolder
        ? join(to, source === '.' ? file : file.slice(source.length + 1))
        : to.endsWith('/')
          ? join(to, basename(file))
          : to
      const target = resolve(image.workdir, name)
      await mkdir(dirname(target), { recursive: true })
      await cp(join(project, file), target)
    }
  }
}

async function listContext(project: string): Promise<string[]> {
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: project,
  })
  const patterns = (await readFile(join(project, '.dockerignore'), 'utf8')).split('\n')
  return dockerignore.default().add(patterns).filter(stdout.split('\0').filter(Boolean))
}

/** With none of our own variables: an image is built without a configuration. */
async function runStep({ image, nodeFolder }: Building, command: string): Promise<void> {
  const own = new Set(Object.keys(Environment.shape))
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.has(name)))
  const child = await startChild({
    name: `RUN ${command}`,
    command: '/bin/sh',
    args: ['-c', command],
    cwd: image.workdir,
    env: { ...env, ...image.env, PATH: [nodeFolder, process.env.PATH].join(delimiter) },
  })
  await succeeded(child, `RUN ${command} failed`)
}
