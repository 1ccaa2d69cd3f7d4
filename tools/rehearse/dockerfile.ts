import { DockerfileParser, type Copy, type Env, type From, type Instruction, type Workdir } from 'dockerfile-ast'

/** One instruction, as far as it can be carried out without Docker. */
export type Step =
  | { kind: 'workdir'; path: string }
  | { kind: 'copy'; from: string | null; sources: string[]; to: string }
  | { kind: 'run'; command: string }
  | { kind: 'env'; variables: Record<string, string> }

export interface Stage {
  name: string
  image: string
  steps: Step[]
  /** The last ones count. */
  command: string[]
  healthcheck: string[]
  user: string | null
}

/** Reads a Dockerfile into its stages. Throws for an instruction that the rehearsal does not know: none is passed over in silence. */
export function readDockerfile(text: string): Stage[] {
  const stages: Stage[] = []
  for (const instruction of DockerfileParser.parse(text).getInstructions()) {
    if (instruction.getInstruction() === 'FROM') {
      const from = instruction as From
      const name = from.getBuildStage() ?? String(stages.length)
      stages.push({ name, image: from.getImage() ?? '', steps: [], command: [], healthcheck: [], user: null })
      continue
    }
    const stage = stages.at(-1)
    if (!stage) throw new Error(`The Dockerfile has ${instruction.getInstruction()} before its first FROM.`)
    addTo(stage, instruction)
  }
  return stages
}

function addTo(stage: Stage, instruction: Instruction): void {
  const rest = instruction.getRawArgumentsContent() ?? ''
  switch (instruction.getInstruction()) {
    case 'WORKDIR':
      return void stage.steps.push({ kind: 'workdir', path: (instruction as Workdir).getPath() ?? '' })
    case 'COPY': {
      const copy = instruction as Copy
      const paths = copy.getArguments().map((argument) => argument.getValue())
      const from = copy.getFromFlag()?.getValue() ?? null
      return void stage.steps.push({ kind: 'copy', from, sources: paths.slice(0, -1), to: paths.at(-1) ?? '' })
    }
    case 'RUN':
      return void stage.steps.push({ kind: 'run', command: rest.replaceAll(/\\\r?\n/g, ' ') })
    case 'ENV': {
      const pairs = (instruction as Env).getProperties().map((property) => [property.getName(), property.getValue()])
      return void stage.steps.push({ kind: 'env', variables: Object.fromEntries(pairs) as Record<string, string> })
    }
    case 'CMD':
      stage.command = readList(rest)
      return
    case 'HEALTHCHECK':
      stage.healthcheck = readList(rest)
      return
    case 'USER':
      stage.user = rest.trim()
      return
    case 'EXPOSE':
      return // says something to people only
  }
  throw new Error(
    `The rehearsal does not know how to carry out ${instruction.getInstruction()}; teach it in tools/rehearse.`,
  )
}

/** The exec form: a JSON list, behind the flags and the word CMD of a health check. */
function readList(text: string): string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as string[]
}
