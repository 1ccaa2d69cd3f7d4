/** What Temporal's setup did. */
export interface TemporalSetup {
  created: boolean
  retentionDays: number
  /** Search attributes that were missing. */
  added: string[]
}

/** Who takes the tasks of a queue. */
export interface QueueFacts {
  queue: string
  kind: 'workflow' | 'activity'
  pollers: number
}

export interface TemporalFacts {
  version: string
  retentionDays: number
  missingAttributes: string[]
  queues: QueueFacts[]
}

/** What the operator's commands ask of Temporal, which src itself knows nothing of. */
export interface TemporalOperations {
  /** What our runs are found by; all of them Keyword. */
  searchAttributes: readonly string[]
  /** Makes the namespace and its search attributes where they are missing. A retention of null leaves what is there, and is a week for a new one.
   *  Throws where this caller may not, as on Temporal Cloud. */
  setUp(options: { retentionDays: number | null }): Promise<TemporalSetup>
  /** Throws when the server does not answer, or there is no such namespace. */
  inspect(): Promise<TemporalFacts>
  /** Whether a run of this id is open; throws when the server does not answer. */
  isOpen(workflowId: string): Promise<boolean>
  close(): Promise<void>
}
