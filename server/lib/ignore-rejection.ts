/** Ignores a rejection that no code waits for: an unhandled rejection would end the process. */
export function ignoreRejection(work: Promise<unknown> | undefined): void {
  work?.catch(() => undefined);
}
