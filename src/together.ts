/** Waits for all of it, also where something failed: of statements sent one behind the other on one transaction none may still be under way when it has
 *  ended. Throws the first failure. */
export async function together<T extends readonly unknown[]>(
  underWay: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(underWay)
  return Promise.all(underWay)
}
