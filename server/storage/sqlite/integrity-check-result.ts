/** The result of an integrity check, between the child process and the gateway. */

/** What the child writes to standard output. */
export interface CheckResult {
  readonly damage?: string;
  readonly failure?: string;
}
