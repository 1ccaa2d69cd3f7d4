import type { Operation } from '../command.js'

/** One thing that was looked at: as it should be, worth knowing, or wrong, and then what to do. */
export interface Finding {
  level: 'ok' | 'note' | 'wrong'
  /** The part, in one or two words. */
  part: string
  says: string
  /** The next step. */
  next?: string
}

/** Looks at one part; what it throws is a finding too. */
export interface Look {
  part: string
  /** Parts without which this one cannot be looked at. */
  needs?: readonly string[]
  at(operation: Operation): Promise<Finding[]>
  /** What to do when it throws. */
  next: string
}

/** What was found, whatever happens; a part that stands on one that `before` found wrong is not looked at. */
export async function lookAt(
  { part, needs = [], at, next }: Look,
  operation: Operation,
  before: readonly Finding[],
): Promise<Finding[]> {
  const lacks = needs.find((need) => before.some((finding) => finding.level === 'wrong' && finding.part === need))
  if (lacks) return [{ level: 'note', part, says: 'not looked at', next: `See ${lacks}, above.` }]
  try {
    return await at(operation)
  } catch (error) {
    return [{ level: 'wrong', part, says: error instanceof Error ? error.message : String(error), next }]
  }
}
