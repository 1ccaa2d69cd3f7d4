import type { Sql, Transaction } from '../../db/client.js'

/** A platform that takes nothing for now, by an operator's word. */
export interface Pause {
  platform: string
  reason: string
  since: Date
}

/** Pauses a platform: no delivery is claimed for it once this has committed. One that is paused already stays so since then, for the new reason. */
export async function pausePlatform(tx: Transaction, { platform, reason }: Omit<Pause, 'since'>): Promise<Pause> {
  await closeGate(tx, platform)
  const [pause] = await tx<[Pause]>`
    insert into paused_platforms (platform, reason) values (${platform}, ${reason})
    on conflict (platform) do update set reason = excluded.reason
    returning platform, reason, since`
  return pause
}

/** Lifts a pause; false when there was none. Who waits for it is woken by `wakePaused`, after the commit. */
export async function resumePlatform(tx: Transaction, platform: string): Promise<boolean> {
  await closeGate(tx, platform)
  const { count } = await tx`delete from paused_platforms where platform = ${platform}`
  return count === 1
}

/** Every pause, by platform. */
export async function findPauses(sql: Sql): Promise<Map<string, Pause>> {
  const rows = await sql<Pause[]>`select platform, reason, since from paused_platforms order by platform`
  return new Map(rows.map((pause) => [pause.platform, pause]))
}

/** Waits for the claims under way and holds back new ones until the transaction ends (`platform_open` in migration 0010). */
async function closeGate(tx: Transaction, platform: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(platform_gate(${platform}))`
}
