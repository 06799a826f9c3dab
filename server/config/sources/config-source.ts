/** A source of the configuration: the file, the environment or the store. */

export interface ConfigSource<T> {
  load(): Promise<T>;
  /**
   * Calls `onChange` after each change, one call at a time. A source that cannot change while the process runs never
   * calls `onChange`. Returns the function that ends the watch.
   */
  watch(onChange: (state: SourceState) => Promise<void>): () => void;
}

/** An empty or absent file may be a write in progress, so it does not replace a configuration that works. */
export type SourceState = "present" | "empty" | "absent";

/**
 * Polling: runs `work` repeatedly, one run at a time. `work` returns the milliseconds between its end and the next run.
 * Returns the function that ends the polling.
 */
export function repeat(firstMs: number, work: () => Promise<number>): () => void {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const schedule = (ms: number): void => {
    if (isStopped) return;
    timer = setTimeout(() => void work().then(schedule), ms);
    timer.unref();
  };
  schedule(firstMs);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
