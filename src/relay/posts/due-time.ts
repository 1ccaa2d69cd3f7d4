import { readClock } from '../../db/clock.js'
import type { Transaction } from '../../db/client.js'
import { invalid } from '../../errors.js'
import { readSchedule, type ScheduleNotice } from '../../time-zones.js'
import { judgeDueTime } from './rules.js'

/** When a post goes out. */
export interface DueTime {
  /** Null is now. */
  scheduledAt: Date | null
  /** The zone its time is shown in; null for a post without a time that names none. */
  timezone: string | null
}

/** Reads `scheduled_at` in `timezone`, else in the organisation's zone; nothing is now. Throws 422 for a time that cannot be used
 *  (relay.md, Scheduling rules; shapes.md 2, Wall clock). */
export async function requireSchedule(
  tx: Transaction,
  { scheduled_at: text, timezone }: { scheduled_at?: string | undefined; timezone?: string | undefined },
  organisationZone: string,
): Promise<DueTime & { notice: ScheduleNotice | null }> {
  if (text === undefined) return { scheduledAt: null, timezone: timezone ?? null, notice: null }
  const zone = timezone ?? organisationZone
  const read = readSchedule(text, zone)
  if ('problem' in read) throw invalid([{ path: 'scheduled_at', message: read.problem }])
  const judged = judgeDueTime(read.instant, await readClock(tx))
  if ('problem' in judged) throw invalid([{ path: 'scheduled_at', message: judged.problem }])
  return { scheduledAt: judged.due, timezone: zone, notice: read.notice }
}
