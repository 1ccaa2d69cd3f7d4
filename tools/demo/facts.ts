/** Prints each fact as it is checked and remembers whether all of them held. */
export class Facts {
  private readonly counts = { held: 0, failed: 0 }

  check(fact: string, holds: boolean): void {
    this.counts[holds ? 'held' : 'failed']++
    process.stdout.write(`    ${holds ? '✓' : '✗'} ${fact}\n`)
  }

  /** The closing line, in the form test runners use. */
  summary(): string {
    return `${this.counts.held} passed, ${this.counts.failed} failed`
  }

  get allHeld(): boolean {
    return this.counts.failed === 0 && this.counts.held > 0
  }
}
