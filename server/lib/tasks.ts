/**
 * Runs asynchronous work: with bounded concurrency, one after the other, all despite failures, or until a signal
 * aborts. Starts generators that must run their `finally`.
 */
import { GatewayError } from "./gateway-error.ts";

/**
 * Runs work on a stack of items with bounded concurrency. The work may push more items. After the first failure no
 * further item is started. Settles when no work is running, and rejects with the first failure. There is no recursion,
 * and no promise for items that wait, so the stack may have any size.
 */
export function runConcurrently<T>(
  stack: T[],
  maxParallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let running = 0;
  let failure: { readonly error: unknown } | undefined;
  const startNext = (): void => {
    while (!failure && running < maxParallel && stack.length > 0) {
      running++;
      work(stack.pop() as T).then(done, fail);
    }
    if (running > 0) return;
    if (failure) reject(failure.error);
    else resolve();
  };
  const done = (): void => {
    running--;
    startNext();
  };
  const fail = (error: unknown): void => {
    failure ??= { error };
    done();
  };
  startNext();
  return promise;
}

/**
 * Starts every release, also after another has failed, and waits for all of them. Then rejects with the failure, or
 * with an AggregateError if there are several.
 */
export async function releaseAll(releases: readonly (() => Promise<unknown>)[]): Promise<void> {
  const outcomes = await Promise.allSettled(releases.map(async (release) => release()));
  const failures = outcomes.flatMap((outcome) =>
    outcome.status === "rejected" ? [outcome.reason as unknown] : [],
  );
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) {
    throw new AggregateError(failures, `${failures.length} resources could not be released.`);
  }
}

/**
 * Runs asynchronous work one after the other (a mutex): the next work begins when the previous one has ended, with or
 * without an error.
 */
export type Serialize = <T>(work: () => Promise<T>) => Promise<T>;

export function createSerialize(): Serialize {
  let turn: Promise<void> = Promise.resolve();
  return async (work) => {
    const before = turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    turn = promise;
    await before;
    try {
      return await work();
    } finally {
      resolve();
    }
  };
}

/**
 * Waits until the event loop has read all sockets once. In the middle of a long computation, other requests are served
 * meanwhile. An immediate runs before the sockets are read, so one would not be enough.
 */
export async function nextTurn(): Promise<void> {
  await new Promise(setImmediate);
  await new Promise(setImmediate);
}

/** Runs a long computation in steps, and serves other requests after each step. */
export async function runInSteps<T>(steps: Iterator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await nextTurn();
  }
}

/** Runs a long computation while no request waits: at the start, and in commands. */
export function runAtOnce<T>(steps: Iterator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Ignores a rejection that no code waits for: an unhandled rejection would end the process. */
export function ignoreRejection(work: Promise<unknown> | undefined): void {
  work?.catch(() => undefined);
}

/**
 * The reason of the signal if it is a GatewayError. Any other reason means that the client has closed the connection.
 */
export function abortError({ reason }: AbortSignal): GatewayError {
  if (reason instanceof GatewayError) return reason;
  return new GatewayError(
    "client_closed",
    "The client closed the connection before the response was complete.",
    { cause: reason },
  );
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abortError(signal);
}

/**
 * Stops waiting for work that cannot be canceled: the work continues, and the waiting code gets the signal's reason.
 */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  work.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}

/** Starts the generator now: one that never started would end without running its `finally`. */
export function startGenerator<T>(generator: AsyncIterable<T>): AsyncIterable<T> {
  const iterator = generator[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<T>> | undefined = iterator.next();
  // The generator may fail before its first chunk is read, or without a reader; a reader still gets the rejection.
  ignoreRejection(first);
  const next = (): Promise<IteratorResult<T>> => {
    const result = first ?? iterator.next();
    first = undefined;
    return result;
  };
  const end = async (): Promise<IteratorResult<T>> =>
    (await iterator.return?.()) ?? { done: true, value: undefined };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}
