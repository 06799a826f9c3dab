/** Timers as a parameter, so that a test can advance the time; sleeping, waiting and reading with a timeout. */
import { ignoreRejection } from "./tasks.ts";

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export interface Timers {
  start(ms: number, fire: () => void): unknown;
  stop(timer: unknown): void;
}

export const realTimers: Timers = {
  start: (ms, fire) => setTimeout(fire, ms),
  stop: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

/** Timers that do not keep the process running. */
export const backgroundTimers: Timers = {
  ...realTimers,
  start: (ms, fire) => setTimeout(fire, ms).unref(),
};

/** Sleeps for `ms` milliseconds. Rejects with the signal's reason when the signal aborts first. */
export function sleep(ms: number, signal: AbortSignal, timers: Timers = realTimers): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => {
    timers.stop(timer);
    signal.removeEventListener("abort", onAbort);
    reject(signal.reason);
  };
  const timer = timers.start(ms, () => {
    signal.removeEventListener("abort", onAbort);
    resolve();
  });
  signal.addEventListener("abort", onAbort);
  return promise;
}

const graceMs = 20;

/**
 * Calls `expire` after `ms` milliseconds, unless the returned function is called first. A process that was paused, such
 * as a frozen container, reads the data that have arrived meanwhile before the timeout counts.
 */
export function startTimeout(ms: number, expire: () => void): () => void {
  let timer = setTimeout(() => {
    timer = setTimeout(expire, graceMs);
  }, ms);
  return () => clearTimeout(timer);
}

/** The promise's result, or undefined after `ms` milliseconds. */
export async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise: timedOut, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([promise, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A signal that aborts after `ms` milliseconds with the error, or with `signal`. Must be disposed: then it no longer
 * aborts.
 */
export function timeoutSignal(
  ms: number,
  toError: () => Error,
  signal?: AbortSignal,
): { readonly signal: AbortSignal; [Symbol.dispose](): void } {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  const timer = setTimeout(() => controller.abort(toError()), ms);
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted) onAbort();
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

/** Ends with an error if a storage stops sending for `stallMs`: the client must not wait for ever. */
export async function* readWithin(
  stream: ReadableStream<Uint8Array>,
  stallMs: number,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const next = await withTimeout(reader.read(), stallMs);
      if (next === undefined) throw new Error(`the storage sent nothing for ${stallMs} ms`);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    ignoreRejection(reader.cancel());
  }
}

interface RepeatOptions {
  /** The pause before each run. */
  readonly everyMs: number;
  /** The first run begins at once. If absent, after a pause. */
  readonly isImmediate?: true;
  /** Called with the first of several failures in a row. If absent, failures are ignored. */
  readonly onFailure?: (error: unknown) => void;
}

/**
 * Background work and polling: one run at a time, until the returned function is called. It aborts the signal of
 * `work`, and resolves when the current run has ended.
 */
export function repeat(
  { everyMs, isImmediate, onFailure }: RepeatOptions,
  work: (signal: AbortSignal) => Promise<void>,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> = Promise.resolve();
  let isFailing = false;
  const run = async (): Promise<void> => {
    try {
      await work(signal);
      isFailing = false;
    } catch (error) {
      if (!isFailing && !signal.aborted) onFailure?.(error);
      isFailing = true;
    }
    schedule();
  };
  const schedule = (): void => {
    if (signal.aborted) return;
    timer = setTimeout(() => {
      running = run();
    }, everyMs);
    timer.unref();
  };
  if (isImmediate) running = run();
  else schedule();
  return () => {
    stopping.abort();
    clearTimeout(timer);
    return running;
  };
}
