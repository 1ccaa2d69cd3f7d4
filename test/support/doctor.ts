import { ops } from './ops.js'

/** What the doctor found: its exit code, each finding as `level part says → next`, and what it said at the end. */
export async function examine(env: NodeJS.ProcessEnv) {
  const { code, out, err } = await ops(['doctor'], env)
  const findings = out.replaceAll(/\n +→ /g, ' → ').replaceAll(/^(\w+) +/gm, '$1 ')
  return { code, findings, err, last: out.split('\n').at(-1) }
}
