/** Polling: runs work again and again, each run some time after the end of the one before. */

/** `work` returns the milliseconds until the next run. Returns the function that ends it. */
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
