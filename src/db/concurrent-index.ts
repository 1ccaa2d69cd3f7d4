import type { Sql } from './client.js'

/** The index that a migration builds beside running writers, which PostgreSQL does outside transactions only; null for every other migration. */
export function concurrentIndexOf(text: string): string | null {
  const statement = text.replaceAll(/--.*$/gm, '').trim()
  return /^create\s+(?:unique\s+)?index\s+concurrently\s+(\w+)\s+on\s/i.exec(statement)?.[1] ?? null
}

/** Builds it, anew where an earlier try left half of it behind. */
export async function buildConcurrently(sql: Sql, { name, text }: { name: string; text: string }): Promise<void> {
  const [found] = await sql<{ whole: boolean }[]>`
    select indisvalid as whole from pg_index where indexrelid = to_regclass(${name})`
  if (found?.whole) return // built, and interrupted before that was written down
  if (found) await sql`drop index concurrently ${sql(name)}`
  await sql.unsafe(text)
}
