/** The value below which `share` of all lie (nearest rank); of none: NaN. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** The middle one, or the middle between two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const middle = sorted.length >> 1
  return sorted.length % 2 ? at(middle) : (at(middle - 1) + at(middle)) / 2
}

/** Runs both in turn, ours first in every other round, so that neither has the warmer machine; `between` after each.
 *  Stops early when another round as long as those before would go beyond `withinMs`. */
export async function alternate<T>(
  { rounds, withinMs }: { rounds: number; withinMs: number },
  { ours, bare, between }: { ours: () => Promise<T>; bare: () => Promise<T>; between: () => Promise<void> },
): Promise<{ ours: T[]; bare: T[] }> {
  const results = { ours: [] as T[], bare: [] as T[] }
  const begun = performance.now()
  for (let round = 0; round < rounds; round++) {
    if (((performance.now() - begun) / Math.max(1, round)) * (round + 1) > withinMs) break
    for (const side of round % 2 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const)) {
      results[side].push(await { ours, bare }[side]())
      await between()
    }
  }
  return results
}
