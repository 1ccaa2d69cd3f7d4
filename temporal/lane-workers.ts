import { Worker, type WorkerOptions } from '@temporalio/worker'

interface LaneWorkersOptions extends Omit<WorkerOptions, 'taskQueue' | 'activities'> {
  /** The activities of each queue. */
  activities: Record<string, object>
  /** Endpoints of each queue that are sent to at once. */
  slots: number
}

/** Makes the workers that send webhooks, one for each queue; activities only, as the workflow of a lane runs with the others. */
export function createLaneWorkers({ activities, slots, ...options }: LaneWorkersOptions): Promise<Worker[]> {
  const create = ([taskQueue, activities]: [string, object]) =>
    Worker.create({ ...options, taskQueue, activities, maxConcurrentActivityTaskExecutions: slots })
  return Promise.all(Object.entries(activities).map(create))
}
