import type { ErrorCode } from '../errors.js'

/** Where a part says that something happened; each part is given the narrowest of these. No organisation, key or id ever enters. */
export interface RequestMeter {
  answered(request: { method: string; route: string; status: number; seconds: number }): void
  /** A key was over its limit. */
  refused(): void
  /** An Idempotency-Key was answered from what was kept. */
  replayed(): void
}

/** What became of attempts. */
export interface AttemptMeter {
  /** `code` null: nothing went wrong. */
  ended(attempt: { platform: string; state: string; code: ErrorCode | null }): void
}

/** What became of telling receivers. */
export interface WebhookMeter {
  /** So many seconds after its event a delivery was first tried. */
  firstTried(lagSeconds: number): void
  attempted(result: string): void
}

/** What the sweep found. */
export interface SweepMeter {
  poked(deliveries: number): void
  woke(lanes: number): void
}
