/** A worker process of `VEXEL_WORKERS`, as its supervisor sees it. */

/** Set by the supervisor: the number of the worker. */
export const workerVariable = "VEXEL_WORKER";

/** A message from a worker to its supervisor: it listens on this port. */
export interface ListeningMessage {
  readonly port: number;
}

/** `url`: where this worker listens. */
export function reportListening(url: string): void {
  const message: ListeningMessage = { port: Number(new URL(url).port) };
  process.send?.(message);
}
