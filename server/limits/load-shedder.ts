/**
 * Load shedding: counts the requests in flight, and refuses new ones above the limit. API keys share the slots
 * (`KeyShares`): one key alone can take all of them, and others then find an eighth of the limit above it. Batch
 * requests leave an eighth of the limit to interactive requests. A key may have requests in flight on half of the
 * connections. Requests that were admitted are completed.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { KeyShares } from "../lib/key-shares.ts";
import type { Priority } from "../request/http-types.ts";

interface LoadShedderOptions {
  /** The limit of requests in flight. */
  readonly requests: number;
  /** The maximum number of client connections. */
  readonly connections: number;
}

/** A key may hold this many times the free slots. With the slots above the limit, one key alone can hold the limit. */
const shareFactor = 8;
/** The share of the limit that batch requests leave to interactive requests. */
const interactiveShare = 1 / 8;

export class LoadShedder {
  readonly #slots: KeyShares;
  readonly #batchLimit: number;
  /** The most requests in flight of one key: each holds a connection, and other keys need some. */
  readonly #maxPerKey: number;

  constructor({ requests, connections }: LoadShedderOptions) {
    this.#slots = new KeyShares(requests + requests / shareFactor + 1);
    this.#batchLimit = requests - Math.floor(requests * interactiveShare);
    this.#maxPerKey = Math.max(1, Math.floor(connections / 2));
  }

  get count(): number {
    return this.#slots.held;
  }

  /** Counts the request of an authenticated client until `release`, or throws GatewayError. */
  admit(key: string, priority: Priority): void {
    const slots = this.#slots;
    if (slots.heldBy(key) >= this.#maxPerKey) throw keyLimitError(this.#maxPerKey);
    const hasCapacity = priority === "interactive" || slots.held < this.#batchLimit;
    if (!hasCapacity || !slots.mayTake(key, 1, shareFactor)) throw overloadedError();
    slots.take(key, 1);
  }

  release(key: string): void {
    this.#slots.release(key, 1);
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
