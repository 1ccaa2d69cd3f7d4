import type { DeliveryStatus } from '../../../src/relay/deliveries/schema.js'
import { judgeDueTime, rollUp } from '../../../src/relay/posts/rules.js'

const now = new Date('2026-03-01T12:00:00.000Z')

test.each<[DeliveryStatus[], string | null]>([
  [['succeeded', 'succeeded'], 'published'],
  [['succeeded', 'skipped'], 'published'],
  [['succeeded', 'failed'], 'partial'],
  [['succeeded', 'rejected'], 'partial'],
  [['succeeded', 'cancelled'], 'partial'],
  [['failed', 'rejected'], 'failed'],
  [['failed', 'cancelled'], 'failed'],
  [['cancelled', 'cancelled'], 'cancelled'],
  [['cancelled', 'skipped'], 'cancelled'],
  [['skipped'], 'failed'],
  [['succeeded', 'pending'], null],
  [['failed', 'processing'], null],
])('deliveries %j make a post %s', (deliveries, status) => {
  expect(rollUp(deliveries)).toBe(status)
})

test.each([
  ['2026-03-01T12:00:00Z', { due: null }],
  ['2026-03-01T11:59:00Z', { due: null }],
  ['2026-03-01T11:58:59.999Z', { problem: expect.stringContaining('past') }],
  ['2026-03-01T14:00:00+01:00', { due: new Date('2026-03-01T13:00:00Z') }],
  ['2028-02-29T12:00:00Z', { due: new Date('2028-02-29T12:00:00Z') }],
  ['2028-02-29T12:00:00.001Z', { problem: expect.stringContaining('730 days') }],
])('scheduled_at %s', (scheduledAt, expected) => {
  expect(judgeDueTime(new Date(scheduledAt), now)).toEqual(expected)
})
