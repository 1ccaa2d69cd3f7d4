import { ERRORS, type ErrorCode } from '../errors.js'

/** What a magic text asks the sandbox to do. */
export interface Directive {
  /** Refuse with this code, the first `times` requests of a client key; with its HTTP status, or inside a 200. */
  refuse: { code: ErrorCode; times: number; inside200: boolean } | null
  /** Accept, then answer only after so many milliseconds. */
  slowMs: number
  /** Accept, then cut the line: `found` can be looked up afterwards, `blind` cannot. */
  drop: 'found' | 'blind' | null
  /** Accept, and say that nothing more is taken for so many seconds. */
  limitS: number | null
}

const MAGIC =
  /\[sandbox:(?:slow=(?<seconds>\d{1,2})|limit=(?<limit>\d{1,2})|(?<drop>drop|drop-blind)|(?<code>[a-z_]+)(?:\*(?<times>\d{1,2}))?(?<inside>@200)?)\]/

/** Reads the first magic text: `[sandbox:CODE]`, `[sandbox:CODE*2]`, `[sandbox:CODE@200]`, `[sandbox:slow=5]`, `[sandbox:limit=3]`, `[sandbox:drop]`, `[sandbox:drop-blind]`.
 *  `publish_indeterminate` is what `drop-blind` leads to, so both mean the same. A text without one is simply accepted. */
export function readDirective(text: string): Directive {
  const { seconds, limit, drop, code, times, inside } = MAGIC.exec(text)?.groups ?? {}
  const blind = drop === 'drop-blind' || code === 'publish_indeterminate'
  return {
    refuse:
      code && code in ERRORS && !blind
        ? { code: code as ErrorCode, times: times ? Number(times) : Infinity, inside200: inside !== undefined }
        : null,
    slowMs: Number(seconds ?? 0) * 1000,
    drop: blind ? 'blind' : drop ? 'found' : null,
    limitS: limit ? Number(limit) : null,
  }
}
