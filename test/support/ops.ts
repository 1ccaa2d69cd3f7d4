import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../../temporal/ops.ts', import.meta.url))

/** Runs an operator's command as its own process; answers its exit code and what it printed. */
export async function ops(
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => void (out += String(chunk)))
  child.stderr.on('data', (chunk) => void (err += String(chunk)))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve)
  })
  return { code, out: out.trim(), err: err.trim() }
}
