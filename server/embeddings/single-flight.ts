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
 * An upstream request in flight. It belongs to its owner, the client request that started it: when the owner's client
 * disconnects or its timeout passes, the upstream request is canceled, and the waiters send their inputs themselves.
 */
export class InFlightQuery {
  /**
   * Undefined after a success, so that a minor garbage collection can take the request. The query itself may stay in
   * memory until the next full collection: tables that a long-lived Map has outgrown are linked in JavaScriptCore.
   */
  #owner: EmbeddingsRequest | undefined;
  #waiters: Set<() => void> | undefined;
  #results: Map<string, CachedEmbedding> | undefined;
  #failure: { readonly error: unknown; readonly wasAbandoned: boolean } | undefined;

  constructor(owner: EmbeddingsRequest) {
    this.#owner = owner;
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

  /** Other requests get some of the vectors. */
  get isShared(): boolean {
    return this.#waiters !== undefined && this.#waiters.size > 0;
  }

  addResult(key: string, embedding: CachedEmbedding): void {
    if (!this.isShared) return;
    this.#results ??= new Map();
    this.#results.set(key, embedding);
  }

  fail(error: unknown): void {
    this.#failure = { error, wasAbandoned: this.isAborted };
  }

  addWaiter(onSettled: () => void): void {
    this.#waiters ??= new Set();
    this.#waiters.add(onSettled);
  }

  removeWaiter(onSettled: () => void): void {
    this.#waiters?.delete(onSettled);
  }

  settle(): void {
    if (!this.#failure) this.#owner = undefined;
    for (const onSettled of this.#waiters ?? []) onSettled();
    this.#waiters = undefined;
  }

  /**
   * Whether the other request fails with the same error: the upstream of its model has failed. A refusal may concern an
   * input, a `user`, an API key or a priority that only this request has.
   */
  alsoFails({ model }: EmbeddingsRequest): boolean {
    if (this.#failure === undefined || this.#failure.wasAbandoned) return false;
    return this.#owner?.model === model && isUpstreamFailure(this.#failure.error);
  }
}

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

  /** The request in flight for an input that a request of this priority may wait for. */
  find(key: string, priority: Priority): InFlightQuery | undefined {
    const query = this.#inFlight.get(key);
    return query?.mayBeJoinedBy(priority) ? query : undefined;
  }

  start(owner: EmbeddingsRequest, keys: readonly string[]): InFlightQuery {
    const query = new InFlightQuery(owner);
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
  const signal = request.signal();
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) {
    resolve();
    return promise;
  }
  const pending = new Map<InFlightQuery, () => void>();
  const stop = (): void => {
    signal.removeEventListener("abort", stop);
    for (const [query, onSettled] of pending) query.removeWaiter(onSettled);
    pending.clear();
    resolve();
  };
  signal.addEventListener("abort", stop);
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
