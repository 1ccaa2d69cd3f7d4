import { v7 } from 'uuid'

/** The prefixes of ids: those of shapes.md that something here makes, and `aud` for a line of the audit log. */
export type IdPrefix = 'org' | 'key' | 'conn' | 'post' | 'dlv' | 'med' | 'evt' | 'aud' | 'whk' | 'whd'

/** `prefix_` + 32 lower-case hex digits of a UUIDv7 (RFC 9562 5.7), so ids sort by the time they were made. */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${v7().replaceAll('-', '')}`
}

/** The shape of an id with this prefix. */
export function idPattern(prefix: IdPrefix): RegExp {
  return new RegExp(`^${prefix}_[0-9a-f]{32}$`)
}
