import { z } from 'zod'
import { idPattern, type IdPrefix } from '../ids.js'

/** One page of a list, newest first; the cursor is the last id of it (shapes.md 0). */
export interface Page<T> {
  rows: T[]
  nextCursor: string | null
}

/** What a list is asked for. */
export interface PageQuery {
  limit: number
  cursor?: string | undefined
}

/** Makes a page of rows that were read with `limit + 1`: the one too many says that there are more. */
export function page<T extends { id: string }>(rows: T[], limit: number): Page<T> {
  const kept = rows.slice(0, limit)
  return { rows: kept, nextCursor: rows.length > limit ? (kept.at(-1)?.id ?? null) : null }
}

/** `limit` as written in a query: 1 to `max`, plain digits. */
export function limitParameter({ max, usual }: { max: number; usual: number }) {
  return z
    .string()
    .regex(/^[1-9]\d*$/, `must be a whole number from 1 to ${max}`)
    .transform(Number)
    .refine((limit) => limit <= max, `must be a whole number from 1 to ${max}`)
    .default(usual)
}

/** `cursor` as written in a query: an id of the kind that is listed. */
export function cursorParameter(prefix: IdPrefix) {
  return z
    .string()
    .regex(idPattern(prefix), `must be the id of the last entry of the page before (${prefix}_…)`)
    .optional()
}

/** Refuses a query whose `from` lies behind its `to`. */
export function inOrder({ from, to }: { from?: string | undefined; to?: string | undefined }): boolean {
  return !from || !to || Date.parse(from) <= Date.parse(to)
}

/** What is said of a query that `inOrder` refuses. */
export const NOT_IN_ORDER = { path: ['from'], error: 'must not lie behind `to`' }

/** A comma-separated list of values of an enumeration. */
export function listParameter<T extends Record<string, string>>(values: z.ZodEnum<T>) {
  return z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(values))
    .optional()
}
