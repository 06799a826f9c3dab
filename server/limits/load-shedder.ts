/**
 * How many calls are in hand, and who has to go when they are too many. The least that is lost by it goes first: a call that
 * waits and for which nothing was done yet; then a new one, unless its key has less than its share, or its answer is known and costs
 * next to nothing. What has begun is brought to its end.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { Fields } from "../request/http-types.ts";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";

export interface LoadShedderOptions {
  /** The most of all kinds, and of image calls. */
  readonly all: number;
  readonly image: number;
  /** Sends away one that waits, if there is one, and its key may lose it. */
  readonly shed: (mayLose: (key: string) => boolean) => boolean;
}

type Kind = "embedding" | "image";

/** How a call is in hand: counted for its key or, while there is plenty of room, not; or only to look whether its answer is known. */
export type SheddingDecision = "uncounted" | "counted" | "cache-only";

/** Beyond the most, one in eight more may look whether their answer is known. */
const spareShare = 1 / 8;
/** Reading more than this is work already. */
const smallBytes = 64 * 1024;

export class LoadShedder {
  readonly #shed: LoadShedderOptions["shed"];
  readonly #all: ConcurrencyLimiter;
  readonly #image: ConcurrencyLimiter;
  readonly #maxCacheOnly: number;
  #cacheOnly = 0;

  constructor({ all, image, shed }: LoadShedderOptions) {
    this.#shed = shed;
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

  /** Of a call that has begun just now, once it is known whose it is. */
  admit(kind: Kind, headers: Fields, key: string): SheddingDecision {
    if (!this.#all.isContended && (kind === "embedding" || !this.#image.isContended))
      return "uncounted";
    // Pictures take long: without a limit of their own they would leave no place for vectors.
    if (kind === "image" && !(this.#image.hasRoom() || this.#image.hasReserveFor(key)))
      throw overloadedError();
    if (this.#hasRoom(key)) {
      this.#all.countFor(key);
      if (kind === "image") this.#image.countFor(key);
      return "counted";
    }
    if (kind === "image" || this.#cacheOnly >= this.#maxCacheOnly || !isSmall(headers))
      throw overloadedError();
    this.#cacheOnly++;
    return "cache-only";
  }

  #hasRoom(key: string): boolean {
    const all = this.#all;
    if (all.hasRoom(this.#cacheOnly)) return true;
    // Whoever has less than others is not the one to make way for them.
    const shed = this.#shed((waiting) => !all.isBelowFairShare(waiting, key));
    return shed || all.hasReserveFor(key, this.#cacheOnly);
  }
}

function isSmall(headers: Fields): boolean {
  const announced = headers.get("content-length");
  return announced !== null && Number(announced) <= smallBytes;
}

export const overloadedError = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "The gateway is overloaded. Please retry your request after a brief delay.",
    { retryAfterMs: 1000, unsent: true },
  );
