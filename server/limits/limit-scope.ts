/** One owner of limits (a key, project, model, upstream or target): its token buckets and concurrency slots. */
import type { Limits } from "../lib/limits.ts";
import { ConcurrencySlots } from "./concurrency-slots.ts";
import { TokenBucket } from "./token-bucket.ts";

/** What a request takes from each rate limit. Whole numbers. */
export interface Demand {
  readonly requests: number;
  readonly tokens: number;
  readonly images: number;
  readonly pixels: number;
}

export type Rate = keyof Demand;
export const rates: readonly Rate[] = ["requests", "tokens", "images", "pixels"];

export class LimitScope {
  readonly id: string;
  readonly slots: ConcurrencySlots;
  readonly #buckets = new Map<Rate, TokenBucket>();
  /** The buckets as an array, which is iterated several times per request. */
  buckets: readonly { readonly rate: Rate; readonly bucket: TokenBucket }[] = [];

  constructor(id: string, limits: Limits, now: number) {
    this.id = id;
    this.slots = new ConcurrencySlots(Infinity);
    this.apply(limits, now);
  }

  bucket(rate: Rate): TokenBucket | undefined {
    return this.#buckets.get(rate);
  }

  /** Applies new limits. Usage stays counted. */
  apply(limits: Limits, now: number): void {
    this.slots.limit = limits.concurrent ?? Infinity;
    for (const rate of rates) {
      const limit = limitOf(limits, rate);
      const bucket = this.#buckets.get(rate);
      if (limit === undefined) this.#buckets.delete(rate);
      else if (!bucket) this.#buckets.set(rate, new TokenBucket(limit, now));
      else if (bucket.limit !== limit) bucket.resize(limit, now);
    }
    this.buckets = Array.from(this.#buckets, ([rate, bucket]) => ({ rate, bucket }));
  }
}

function limitOf(limits: Limits, rate: Rate): number | undefined {
  if (rate === "requests") return limits.requestsPerMinute;
  if (rate === "tokens") return limits.tokensPerMinute;
  if (rate === "images") return limits.imagesPerMinute;
  const { megapixelsPerMinute: millions } = limits;
  return millions === undefined ? undefined : Math.max(1, Math.round(millions * 1_000_000));
}
