/** For work whose failure concerns nobody any more: without this, nobody hearing of it would end the process. */
export function ignoreRejection(work: Promise<unknown> | undefined): void {
  work?.catch(() => undefined);
}
