import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Client } from '@temporalio/client'

/** The patch that the next release's deliverPost carries. */
export const PATCH = 'waits-before-it-publishes'

/** The workflows of the next release as one file. */
export async function bundleNextRelease(): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'relay-next-'))
  const path = join(folder, 'workflows.cjs')
  const script = fileURLToPath(new URL('bundle-next-release.ts', import.meta.url))
  await promisify(execFile)(process.execPath, ['--import', 'tsx', script, path, PATCH])
  return { path, remove: () => rm(folder, { recursive: true }) }
}

/** What the history of a delivery's first run tells of the versions it met. */
export async function readRun(client: Client, deliveryId: string) {
  const { events } = await client.workflow.getHandle(`delivery/${deliveryId}/1`).fetchHistory()
  const all = events ?? []
  return {
    patched: all.some(({ markerRecordedEventAttributes: marker }) => marker?.markerName === 'core_patch'),
    /** Process ids of the workers that took it on, in order. */
    workers: [
      ...new Set(
        all.flatMap(({ workflowTaskCompletedEventAttributes: task }) => task?.identity?.replace(/@.*/s, '') ?? []),
      ),
    ].map(Number),
    /** How often a worker could not replay it. */
    notReplayed: all.filter(({ workflowTaskFailedEventAttributes: task }) =>
      task?.failure?.message?.includes('Nondeterminism error'),
    ).length,
  }
}

/** The runs of an organisation that carry the patch and are not closed, as an operator finds them. */
export async function findPatchedRuns(client: Client, organisationId: string): Promise<string[]> {
  const query = `TemporalChangeVersion = '${PATCH}' and OrganisationId = '${organisationId}' and ExecutionStatus = 'Running'`
  const ids: string[] = []
  for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId)
  return ids
}
