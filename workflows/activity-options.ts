import type { ActivityOptions } from '@temporalio/workflow'

/** For an activity that settles what it works on and may be repeated for as long as that takes: its budget is in rows. A worker that
 *  misses its heartbeats is taken for dead; an attempt ends well after the longest call it may make, and after fetching media, which has 60 s (decisions.md 1, Frozen workers). */
export const untilSettled: ActivityOptions = {
  startToCloseTimeout: '90s',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '15m' },
}
