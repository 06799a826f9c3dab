/**
 * Single-flight: concurrent requests for the same input share one upstream request, which prevents a cache stampede.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { Priority } from "../request/http-types.ts";
import type { StageRequest } from "../request/stage.ts";
import type { EmbeddingsQuery } from "../upstream/contract.ts";
import type { CachedEmbedding } from "./cache/embedding-cache.ts";

type EmbeddingsRequest = StageRequest<EmbeddingsQuery>;

/**
 * An upstream request with more inputs is canceled when its client disconnects, even if other requests wait for some of
 * the inputs: most of its cost would be for inputs that no client needs.
 */
const maxInputsToContinue = 64;

/**
 * An upstream request in flight, and its owner: the client request that started it. When the owner's client
 * disconnects, an upstream request with at most `maxInputsToContinue` inputs continues for the requests that wait for
 * its inputs, until the owner's timeout.
 */
export class InFlightQuery {
  /**
   * Undefined after a success, so that a minor garbage collection frees the request. The query itself may stay in
   * memory until the next full collection: tables that a long-lived Map has outgrown are linked in JavaScriptCore.
   */
  #owner: EmbeddingsRequest | undefined;
  readonly #inputs: number;
  #waiters: Set<() => void> | undefined;
  #results: Map<string, CachedEmbedding> | undefined;
  #failure: { readonly error: unknown; readonly wasAbandoned: boolean } | undefined;

  constructor(owner: EmbeddingsRequest, inputs: number) {
    this.#owner = owner;
    this.#inputs = inputs;
    if (inputs <= maxInputsToContinue) owner.deadline.sharedResult = this;
  }

  /** The owner's client has disconnected or its timeout has passed: the upstream request will not succeed. */
  get isAborted(): boolean {
    return this.#owner?.signal().aborted === true;
  }

  /**
   * Prevents a priority inversion: inputs of a batch request may be queued in the gateway behind all interactive
   * requests, so an interactive request sends them itself. Raising the priority of the batch request instead (priority
   * inheritance) would put all inputs of an indexing job before other interactive requests.
   */
  mayBeJoinedBy(priority: Priority): boolean {
    if (this.isAborted) return false;
    return priority === "batch" || this.#owner?.context.priority !== "batch";
  }

  /** The upstream request ended because of the owner's client or timeout, not because of its inputs. */
  get wasAbandoned(): boolean {
    return this.#failure?.wasAbandoned === true;
  }

  get error(): unknown {
    return this.#failure?.error;
  }

  result(key: string): CachedEmbedding | undefined {
    return this.#results?.get(key);
  }

  addResult(key: string, embedding: CachedEmbedding): void {
    if (this.#waiters === undefined || this.#waiters.size === 0) return;
    this.#results ??= new Map();
    this.#results.set(key, embedding);
  }

  fail(error: unknown): void {
    this.#failure = { error, wasAbandoned: isDisconnect(error) || this.isAborted };
  }

  /**
   * Adds a waiter. If the upstream request has at most `maxInputsToContinue` inputs, a disconnect of the owner's client
   * does not cancel it from now on, so the waiter need not pay for a second upstream request.
   */
  addWaiter(onSettled: () => void): void {
    this.#waiters ??= new Set();
    this.#waiters.add(onSettled);
  }

  /** Without waiters, the request is canceled if the owner's client has disconnected. */
  removeWaiter(onSettled: () => void): void {
    this.#waiters?.delete(onSettled);
    if (!this.hasWaiters()) this.#owner?.deadline.abortIfDisconnected();
  }

  settle(): void {
    const deadline = this.#owner?.deadline;
    if (deadline) {
      deadline.sharedResult = undefined;
      deadline.abortIfDisconnected();
    }
    if (!this.#failure) this.#owner = undefined;
    for (const onSettled of this.#waiters ?? []) onSettled();
    this.#waiters = undefined;
  }

  hasWaiters(): boolean {
    return (this.#waiters?.size ?? 0) > 0;
  }

  /**
   * Whether the other request fails with the same error. An upstream failure applies to the other request too. A
   * refusal may concern an input, a `user`, an API key or a priority that only this request has, so the refusal applies
   * only to an identical request of the same key and priority.
   */
  alsoFails(other: EmbeddingsRequest): boolean {
    if (!this.#owner || this.#failure === undefined || this.#failure.wasAbandoned) return false;
    const { model, query, context } = this.#owner;
    if (model !== other.model) return false;
    if (isUpstreamFailure(this.#failure.error)) return true;
    return (
      this.#inputs === 1 &&
      query.user === other.query.user &&
      query.encoding === other.query.encoding &&
      context.caller?.id === other.context.caller?.id &&
      context.priority === other.context.priority
    );
  }
}

const isDisconnect = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.kind === "client_closed";

function isUpstreamFailure(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { causedBy, retry } = error.definition;
  return causedBy === "upstream" && retry !== "never";
}

/** The inputs in flight, by cache key. Bounded by the inputs of the requests in flight. */
export class SingleFlight {
  readonly #inFlight = new Map<string, InFlightQuery>();

  get size(): number {
    return this.#inFlight.size;
  }

  /** The request in flight for an input that a request of this priority may wait for. Undefined: there is none. */
  find(key: string, priority: Priority): InFlightQuery | undefined {
    const query = this.#inFlight.get(key);
    return query?.mayBeJoinedBy(priority) ? query : undefined;
  }

  start(owner: EmbeddingsRequest, keys: readonly string[]): InFlightQuery {
    const query = new InFlightQuery(owner, keys.length);
    // A request that this one may not wait for is replaced: later requests wait for this one.
    const { priority } = owner.context;
    for (const key of keys) if (!this.find(key, priority)) this.#inFlight.set(key, query);
    return query;
  }

  end(query: InFlightQuery, keys: readonly string[]): void {
    // Another request may have replaced this one.
    for (const key of keys) if (this.#inFlight.get(key) === query) this.#inFlight.delete(key);
    query.settle();
  }
}

/**
 * Waits until all of these upstream requests have settled, one has failed with an error that applies to this request,
 * or this request is aborted. Never rejects.
 */
export function waitForInFlight(
  queries: ReadonlySet<InFlightQuery>,
  request: EmbeddingsRequest,
): Promise<void> {
  const { deadline } = request;
  const signal = request.signal();
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) {
    resolve();
    return promise;
  }
  const pending = new Map<InFlightQuery, () => void>();
  const stop = (): void => {
    signal.removeEventListener("abort", stop);
    deadline.removeDisconnectListener(stop);
    for (const [query, onSettled] of pending) query.removeWaiter(onSettled);
    pending.clear();
    resolve();
  };
  signal.addEventListener("abort", stop);
  // After a disconnect, the request's own upstream request may continue, but the request no longer waits for others.
  deadline.addDisconnectListener(stop);
  for (const query of queries) {
    const onSettled = (): void => {
      pending.delete(query);
      if (pending.size === 0 || query.alsoFails(request)) stop();
    };
    pending.set(query, onSettled);
    query.addWaiter(onSettled);
  }
  return promise;
}

/**
 * Why a request no longer waits for others. Its timeout does not mean that an upstream did not respond: the request
 * that it waited for may have been sent much later, or not yet. `hasSent`: some of its own inputs were sent.
 */
export function waitAbortError({ reason }: AbortSignal, hasSent: boolean): unknown {
  if (!(reason instanceof GatewayError) || reason.kind !== "upstream_timeout") return reason;
  return new GatewayError(
    "upstream_timeout",
    "Timed out while waiting for another request with the same input. Please retry your request after a brief delay.",
    hasSent ? {} : { notSent: true },
  );
}
