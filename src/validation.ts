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

/** Text that PostgreSQL can keep and every platform can read: no NUL, no half of a surrogate pair. */
export const plainText = z
  .string()
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be well-formed Unicode without NUL characters')
