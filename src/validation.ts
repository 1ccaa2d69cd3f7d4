import { z } from 'zod'
import { invalid, type FieldProblem } from './errors.js'

function problemsOf(issue: z.core.$ZodIssue, at: PropertyKey[]): FieldProblem[] {
  const path = [...at, ...issue.path]
  // An unknown key is named itself, not the object it stands in.
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'is not a field of this request' }))
  return [{ path: path.join('.'), message: issue.message }]
}

/** Parses what a caller sent; throws 422 validation_failed that names every field that is wrong, its path under `at`. */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown, at: PropertyKey[] = []): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw invalid(parsed.error.issues.flatMap((issue) => problemsOf(issue, at)))
}

/** Text that PostgreSQL can keep and every platform can read: no NUL, no half of a surrogate pair; its length in Unicode code points, as JSON Schema
 *  counts them. */
export function plainText({ min = 1, max }: { min?: number; max: number }) {
  return z
    .string()
    .refine((text) => !text.includes('\0') && text.isWellFormed(), {
      error: 'must be well-formed Unicode without NUL characters',
      abort: true,
    })
    .refine((text) => countCodePoints(text) >= min, {
      error: min === 1 ? 'must not be empty' : `must have at least ${min} characters`,
      abort: true,
    })
    .refine((text) => countCodePoints(text) <= max, `must have at most ${max} characters`)
    .meta({ minLength: min, maxLength: max })
}

function countCodePoints(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    count++
    const unit = text.charCodeAt(at)
    if (unit >= 0xd800 && unit <= 0xdbff) at++
  }
  return count
}
