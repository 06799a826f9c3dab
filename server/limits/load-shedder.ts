/**
 * Load shedding: counts the requests in flight, and refuses new ones above the limits. API keys share the slots
 * (`KeyShares`): one key alone can take all of them, and others then find an eighth of the limit above it. Batch
 * requests leave an eighth of the limit to interactive requests. A key may have requests in flight on half of the
 * connections. Requests that were admitted are completed.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { KeyShares } from "../lib/key-shares.ts";
import type { Priority } from "../request/http-types.ts";

interface LoadShedderOptions {
  /** The limits of all requests and of image requests. */
  readonly all: number;
  readonly image: number;
  /** The maximum number of client connections. */
  readonly connections: number;
}

type Kind = "embedding" | "image";

export class LoadShedder {
  readonly #all: SharedSlots;
  /** Image requests are slow: without a limit of their own they would take all slots from embeddings. */
  readonly #image: SharedSlots;
  /** The most requests in flight of one key: each holds a connection, and other keys need some. */
  readonly #maxPerKey: number;

  constructor({ all, image, connections }: LoadShedderOptions) {
    this.#maxPerKey = Math.max(1, Math.floor(connections / 2));
    this.#all = new SharedSlots(all);
    this.#image = new SharedSlots(image);
  }

  get count(): number {
    return this.#all.held;
  }

  /** Counts the request of an authenticated client until `release`, or throws GatewayError. */
  admit(kind: Kind, key: string, priority: Priority): void {
    if (this.#all.heldBy(key) >= this.#maxPerKey) throw keyLimitError(this.#maxPerKey);
    const isImage = kind === "image";
    if (!this.#all.hasSlot(key, priority)) throw overloadedError();
    if (isImage && !this.#image.hasSlot(key, priority)) throw overloadedError();
    this.#all.take(key, 1);
    if (isImage) this.#image.take(key, 1);
  }

  release(kind: Kind, key: string): void {
    this.#all.release(key, 1);
    if (kind === "image") this.#image.release(key, 1);
  }
}

const overloadedError = (): GatewayError =>
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

/** A key may hold this many times the free slots. With the slots above the limit, one key alone can hold the limit. */
const factor = 8;
/** The share of the limit that batch requests leave to interactive requests. */
const interactiveShare = 1 / 8;

class SharedSlots extends KeyShares {
  readonly #batchLimit: number;

  constructor(limit: number) {
    super(limit + limit / factor + 1);
    this.#batchLimit = limit - Math.floor(limit * interactiveShare);
  }

  hasSlot(key: string, priority: Priority): boolean {
    if (priority === "batch" && this.held >= this.#batchLimit) return false;
    return this.mayTake(key, 1, factor);
  }
}
