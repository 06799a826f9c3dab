/**
 * Single-flight (request coalescing): concurrent requests for the same input share one upstream request, which prevents
 * a cache stampede.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { StageRequest } from "../request/stage.ts";
import type { EmbeddingsQuery } from "../upstream/contract.ts";
import type { CachedEmbedding } from "./cache/embedding-cache.ts";
import { detachVector } from "./vector-formats.ts";

type EmbeddingsRequest = StageRequest<EmbeddingsQuery>;

/**
 * An upstream request with more inputs is canceled with its client, though other requests wait for some of the inputs:
 * most of its cost would be for inputs that no client needs.
 */
const maxInputsToContinue = 64;

/**
 * An upstream request in flight, with the request that started it. It has a signal of its own: when the client of its
 * owner disconnects, it continues for the requests that wait for its inputs.
 */
export class InFlightQuery {
  readonly #owner: EmbeddingsRequest;
  readonly #inputs: number;
  readonly #clock: () => number;
  readonly #controller = new AbortController();
  #waiters: Set<() => void> | undefined;
  /** Runs while the query continues without its client: the owner's timeout still ends it. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #results: Map<string, CachedEmbedding> | undefined;
  #failure: { readonly error: unknown; readonly wasAbandoned: boolean } | undefined;

  constructor(owner: EmbeddingsRequest, inputs: number, clock: () => number) {
    this.#owner = owner;
    this.#inputs = inputs;
    this.#clock = clock;
    if (owner.signal.aborted) this.#controller.abort(owner.signal.reason);
    else owner.signal.addEventListener("abort", this.#onOwnerAbort);
  }

  /** The request for the next stage. */
  get upstreamRequest(): EmbeddingsRequest {
    return { ...this.#owner, signal: this.#controller.signal };
  }

  /** Its client has disconnected or its timeout has passed, so it will not succeed. */
  get isAborted(): boolean {
    return this.#controller.signal.aborted;
  }

  /** It ended because of its own client, which says nothing about the inputs. */
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
    // A copy: a waiter may read it after the response that holds it was released.
    this.#results.set(key, { ...embedding, vector: detachVector(embedding.vector) });
  }

  fail(error: unknown): void {
    this.#failure = { error, wasAbandoned: isDisconnect(error) || this.isAborted };
  }

  /** Adds a waiter. From now on a disconnect of the client does not cancel the request: it is not paid for twice. */
  addWaiter(onSettled: () => void): void {
    this.#waiters ??= new Set();
    this.#waiters.add(onSettled);
  }

  /** A disconnected client's request without waiters is canceled. */
  removeWaiter(onSettled: () => void): void {
    this.#waiters?.delete(onSettled);
    if (this.#waiters?.size === 0 && this.#timer) this.#controller.abort(this.#owner.signal.reason);
  }

  settle(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#owner.signal.removeEventListener("abort", this.#onOwnerAbort);
    for (const onSettled of this.#waiters ?? []) onSettled();
    this.#waiters?.clear();
  }

  readonly #onOwnerAbort = (): void => {
    const { signal, deadlineAt } = this.#owner;
    // A timeout ends it: a waiter with more time sends its own request.
    const continues =
      isDisconnect(signal.reason) &&
      this.#inputs <= maxInputsToContinue &&
      (this.#waiters?.size ?? 0) > 0;
    if (!continues) {
      this.#controller.abort(signal.reason);
      return;
    }
    const leftMs = Math.max(0, deadlineAt - this.#clock());
    this.#timer = setTimeout(() => this.#controller.abort(timedOut()), leftMs);
  };

  /**
   * Whether the other request fails with the same error. An upstream failure applies to it too. A refusal may concern
   * an input, a `user` or an API key that only this request has: it applies only to an identical request of the same
   * key.
   */
  alsoFails(other: EmbeddingsRequest): boolean {
    if (this.#failure === undefined || this.#failure.wasAbandoned) return false;
    const { route, query, record } = this.#owner;
    if (route !== other.route) return false;
    if (isUpstreamFailure(this.#failure.error)) return true;
    return (
      this.#inputs === 1 &&
      query.user === other.query.user &&
      query.encoding === other.query.encoding &&
      record.caller?.id === other.record.caller?.id
    );
  }
}

const timedOut = (): GatewayError =>
  new GatewayError("upstream_timeout", "The upstream did not respond before the request timeout.");

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
  readonly #clock: () => number;

  /** `clock`: milliseconds, monotonic. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#inFlight.size;
  }

  /** The request in flight for an input. Undefined if there is none, or if it is already aborted. */
  find(key: string): InFlightQuery | undefined {
    const query = this.#inFlight.get(key);
    return query?.isAborted ? undefined : query;
  }

  start(owner: EmbeddingsRequest, keys: readonly string[]): InFlightQuery {
    const query = new InFlightQuery(owner, keys.length, this.#clock);
    for (const key of keys) if (!this.find(key)) this.#inFlight.set(key, query);
    return query;
  }

  end(query: InFlightQuery, keys: readonly string[]): void {
    // Another request may have replaced one that was aborted.
    for (const key of keys) if (this.#inFlight.get(key) === query) this.#inFlight.delete(key);
    query.settle();
  }
}

/**
 * Waits until all have settled, or one failed with an error that applies to this request, or this request is aborted.
 * Never rejects.
 */
export function waitForInFlight(
  queries: ReadonlySet<InFlightQuery>,
  request: EmbeddingsRequest,
): Promise<void> {
  const { signal } = request;
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
