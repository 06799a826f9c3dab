/**
 * Load shedding: counts in-flight requests. A key may have requests in flight on half of the connections. Above the
 * limits, sheds in this order: new batch requests, from seven eighths of the limit on; above the limit, queued requests
 * that have not started, batch requests first; then new requests of keys above their fair share. Small embeddings
 * requests that may be served from the cache are still admitted (cache-only). Requests that have started are completed.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Priority, RequestHeaders } from "../request/http-types.ts";

interface LoadShedderOptions {
  /** The limits of all requests and of image requests. */
  readonly all: number;
  readonly image: number;
  /** The maximum number of client connections. */
  readonly connections: number;
  /** Sheds one queued request, if there is one and `mayShed` allows it for its key. */
  readonly shed: (mayShed: (key: string) => boolean) => boolean;
}

type Kind = "embedding" | "image";

/** Counts a request from its start to its end, and decides whether it is admitted. */

/** How a request was admitted: counted for its key, or cache-only. `uncounted`: it was not admitted. */
export type SheddingDecision = "uncounted" | "counted" | "cache-only";

/** Above the limit, further requests are admitted cache-only, up to an eighth of the limit. */
const spareShare = 1 / 8;
/** A larger body takes too long to read for a request that may only be looked up in the cache. */
const maxCacheOnlyBytes = 64 * 1024;

export class LoadShedder {
  readonly #shed: LoadShedderOptions["shed"];
  readonly #all: ConcurrencyLimiter;
  readonly #image: ConcurrencyLimiter;
  readonly #maxCacheOnly: number;
  /** The most requests in flight of one key: each holds a connection, and other keys need some. */
  readonly #maxPerKey: number;
  #cacheOnly = 0;

  constructor({ all, image, connections, shed }: LoadShedderOptions) {
    this.#shed = shed;
    this.#maxPerKey = Math.max(1, Math.floor(connections / 2));
    this.#all = new ConcurrencyLimiter(all);
    this.#image = new ConcurrencyLimiter(image);
    this.#maxCacheOnly = Math.ceil(all * spareShare);
  }

  get count(): number {
    return this.#all.inUse;
  }

  begin(kind: Kind): void {
    this.#all.acquire();
    if (kind === "image") this.#image.acquire();
  }

  end(kind: Kind, decision: SheddingDecision, key: string | undefined): void {
    this.#all.release();
    if (kind === "image") this.#image.release();
    if (decision === "cache-only") this.#cacheOnly--;
    if (decision !== "counted" || key === undefined) return;
    this.#all.releaseFor(key);
    if (kind === "image") this.#image.releaseFor(key);
  }

  /** Decides on a request that has just started, once it is authenticated. */
  admit(kind: Kind, headers: RequestHeaders, key: string, priority: Priority): SheddingDecision {
    if (this.#all.inUseBy(key) >= this.#maxPerKey) throw keyLimitError(this.#maxPerKey);
    if (priority === "batch" && !this.#hasCapacityForBatch(kind)) throw overloadedError();
    // Image requests are slow: without a limit of their own they would take all slots from embeddings.
    if (kind === "image" && !(this.#image.hasCapacity() || this.#image.hasReserveFor(key)))
      throw overloadedError();
    if (this.#hasCapacity(key)) {
      this.#all.countFor(key);
      if (kind === "image") this.#image.countFor(key);
      return "counted";
    }
    if (kind === "image" || this.#cacheOnly >= this.#maxCacheOnly || !isSmall(headers))
      throw overloadedError();
    this.#cacheOnly++;
    return "cache-only";
  }

  #hasCapacityForBatch(kind: Kind): boolean {
    return (
      this.#all.hasCapacityForBatch(this.#cacheOnly) &&
      (kind === "embedding" || this.#image.hasCapacityForBatch())
    );
  }

  #hasCapacity(key: string): boolean {
    const all = this.#all;
    if (all.hasCapacity(this.#cacheOnly)) return true;
    // A queued request of a key below its fair share is not shed.
    const shed = this.#shed((waiting) => !all.isBelowFairShare(waiting, key));
    return shed || all.hasReserveFor(key, this.#cacheOnly);
  }
}

function isSmall(headers: RequestHeaders): boolean {
  const announced = headers.get("content-length");
  return announced !== null && Number(announced) <= maxCacheOnlyBytes;
}

export const overloadedError = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "The gateway is overloaded. Please retry your request after a brief delay.",
    { retryAfterMs: 1000, notSent: true },
  );

const keyLimitError = (max: number): GatewayError =>
  new GatewayError(
    "rate_limited",
    `This API key has ${max} requests in flight, half of the connections that the gateway serves. Retry when some of them have ended, or ask the gateway's operator to raise VEXEL_MAX_CONNECTIONS.`,
    { retryAfterMs: 1000, notSent: true },
  );

/** The reserve above the limit, for keys below their fair share. */
const reserveShare = 1 / 8;
/** The share of the limit that batch requests leave to interactive requests. */
const interactiveShare = 1 / 8;

/**
 * Concurrency limiter with fair shares per API key. While slots are plentiful every request gets one. At the limit a
 * small reserve is left for keys below their fair share, so that one key with many requests cannot lock out the others.
 */
class ConcurrencyLimiter {
  readonly #limit: number;
  readonly #withReserve: number;
  readonly #batchLimit: number;
  readonly #byKey = new Map<string, number>();
  #inUse = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#withReserve = limit + Math.ceil(limit * reserveShare);
    this.#batchLimit = limit - Math.floor(limit * interactiveShare);
  }

  get inUse(): number {
    return this.#inUse;
  }

  acquire(): void {
    this.#inUse++;
  }

  release(): void {
    this.#inUse--;
  }

  countFor(key: string): void {
    this.#byKey.set(key, this.inUseBy(key) + 1);
  }

  releaseFor(key: string): void {
    const inUse = this.inUseBy(key);
    if (inUse > 1) this.#byKey.set(key, inUse - 1);
    else this.#byKey.delete(key);
  }

  /**
   * Whether a request that holds a slot, and is not yet counted for its key, can keep the slot. `excluded`: the number
   * of slots in use that do not count.
   */
  hasCapacity(excluded = 0): boolean {
    return this.#inUse - excluded <= this.#limit;
  }

  /** Like `hasCapacity`, without the share that is left to interactive requests. */
  hasCapacityForBatch(excluded = 0): boolean {
    return this.#inUse - excluded <= this.#batchLimit;
  }

  /** Like `hasCapacity`, with the reserve for keys below their fair share. */
  hasReserveFor(key: string, excluded = 0): boolean {
    return this.#inUse - excluded <= this.#withReserve && this.isBelowFairShare(key, key);
  }

  /** Whether one more slot keeps `key` within an equal share among all active keys, including `newKey`. */
  isBelowFairShare(key: string, newKey: string): boolean {
    const keys = this.#byKey.size + (this.#byKey.has(newKey) ? 0 : 1);
    return this.inUseBy(key) < Math.max(1, Math.floor(this.#limit / keys));
  }

  inUseBy(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }
}
