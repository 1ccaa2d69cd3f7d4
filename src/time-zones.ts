// Temporal here is ECMAScript's API for dates, not the workflow server. Its zones are those of Node's ICU (process.versions.tz).
import { Temporal } from 'temporal-polyfill'
import { z } from 'zod'

/** What happened to a wall clock that a change of clocks skipped or repeated (shapes.md 2, Wall clock). */
export const ScheduleNotice = z
  .strictObject({
    kind: z.enum(['gap', 'overlap']),
    requested: z.string(),
    scheduled_at: z.iso.datetime(),
    timezone: z.string(),
    message: z.string(),
  })
  .meta({ id: 'ScheduleNotice' })
export type ScheduleNotice = z.infer<typeof ScheduleNotice>

/** When something is due. `local` is the wall clock as it was asked for, to the second; null when an instant was. */
export interface Schedule {
  instant: Date
  local: string | null
  notice: ScheduleNotice | null
}

const SHAPE = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?$/
const TIME = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d|$)/
const OFFSET = /^(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** Whether this names a zone of the IANA database, spelt as it is there. Links such as US/Pacific do; offsets and ICU's own PST do not. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Z]/.test(name)) return false // an offset is a zone to Temporal
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId === name
  } catch {
    return false // there is no other way to ask: Intl.supportedValuesOf leaves out the links
  }
}

/** Reads an instant with an offset, which overrides `zone`, or a wall clock in `zone`: a gap moves it forward by the gap, an overlap
 *  means the earlier. Answers why a text cannot be used instead of throwing. `zone` must be one that `isTimeZone` knows. */
export function readSchedule(text: string, zone: string): Schedule | { problem: string } {
  const [, date = '', time = '', offset] = SHAPE.exec(text) ?? []
  if (!date)
    return {
      problem:
        'must be a local date and time such as 2026-07-01T09:00, or an instant with its offset such as 2026-07-01T09:00:00+02:00',
    }
  if (!isDate(date)) return { problem: `names a day that does not exist: ${date}` }
  if (!TIME.test(time))
    return { problem: `names a time of day that does not exist: ${time}; a day runs from 00:00 to 23:59:59` }
  if (offset === undefined) return readWallClock(Temporal.PlainDateTime.from(text), zone)
  if (!OFFSET.test(offset)) return { problem: `names an offset that does not exist: ${offset}` }
  return { instant: new Date(text), local: null, notice: null }
}

/** The wall clock in `zone` at this instant, as YYYY-MM-DDTHH:mm:ss. */
export function toLocal(instant: Date, zone: string): string {
  return toSecond(Temporal.Instant.fromEpochMilliseconds(instant.getTime()).toZonedDateTimeISO(zone).toPlainDateTime())
}

function readWallClock(asked: Temporal.PlainDateTime, zone: string): Schedule {
  const earlier = asked.toZonedDateTime(zone, { disambiguation: 'earlier' })
  const later = asked.toZonedDateTime(zone, { disambiguation: 'later' })
  const local = toSecond(asked)
  if (earlier.equals(later)) return { instant: toDate(earlier), local, notice: null }

  // In a gap the earlier of the two is the one moved back, which is no longer the time asked for.
  const kind = earlier.toPlainDateTime().equals(asked) ? 'overlap' : 'gap'
  const taken = kind === 'overlap' ? earlier : later
  const instant = toDate(taken)
  const message = explain[kind](asked, taken)
  return {
    instant,
    local,
    notice: { kind, requested: local, scheduled_at: instant.toISOString(), timezone: zone, message },
  }
}

const explain = {
  gap(asked: Temporal.PlainDateTime, taken: Temporal.ZonedDateTime): string {
    const day = asked.toPlainDate().toString()
    const takenDay = taken.toPlainDate().toString()
    const to = takenDay === day ? clock(taken) : `${clock(taken)} on ${takenDay}`
    return `${clock(asked)} does not exist on ${day} in ${taken.timeZoneId}, as clocks go forward; moved to ${to}.`
  },
  overlap(asked: Temporal.PlainDateTime, taken: Temporal.ZonedDateTime): string {
    const day = asked.toPlainDate().toString()
    return `${clock(asked)} happens twice on ${day} in ${taken.timeZoneId}, as clocks go back; taken as the earlier, UTC${taken.offset}.`
  },
}

function clock(time: Temporal.PlainDateTime | Temporal.ZonedDateTime): string {
  return time.toPlainTime().toString({ smallestUnit: time.second === 0 ? 'minute' : 'second' })
}

function toSecond(local: Temporal.PlainDateTime): string {
  return local.toString({ smallestUnit: 'second' })
}

function toDate(time: Temporal.ZonedDateTime): Date {
  return new Date(time.epochMilliseconds)
}

/** Date takes 2026-02-30 for the second of March, so what it read must be what was written. */
function isDate(date: string): boolean {
  const midnight = new Date(`${date}T00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date)
}
