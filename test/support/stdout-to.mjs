// Preloaded into a child process: its standard output is opened anew on STDOUT_TO, as a supervisor would have opened it.
import { closeSync, openSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  closeSync(1)
  const fd = openSync(process.env.STDOUT_TO, 'a')
  if (fd !== 1) throw new Error(`Standard output is ${fd}`)
}
