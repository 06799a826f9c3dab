/** One owner of limits (a key, project, model, upstream or target): its rate counters and concurrency slots. */
import type { Limits } from "../lib/limits.ts";
import type { ConcurrencySlots } from "./concurrency-slots.ts";
import {
  type Rate,
  type RateCounter,
  type RateLimitCounters,
  rates,
} from "./rate-limit-counters.ts";

export class LimitScope {
  readonly id: string;
  readonly slots: ConcurrencySlots;
  readonly #counters: RateLimitCounters;
  readonly #buckets = new Map<Rate, RateCounter>();
  /** The buckets as an array, which is iterated several times per request. */
  buckets: readonly { readonly rate: Rate; readonly bucket: RateCounter }[] = [];

  constructor(id: string, limits: Limits, counters: RateLimitCounters, now: number) {
    this.id = id;
    this.#counters = counters;
    this.slots = counters.createSlots(id);
    this.apply(limits, now);
  }

  bucket(rate: Rate): RateCounter | undefined {
    return this.#buckets.get(rate);
  }

  /** Applies new limits. Usage stays counted. */
  apply(limits: Limits, now: number): void {
    this.slots.limit = limits.concurrent ?? Infinity;
    for (const rate of rates) {
      const limit = limitOf(limits, rate);
      const bucket = this.#buckets.get(rate);
      if (limit === undefined) this.#buckets.delete(rate);
      else if (!bucket)
        this.#buckets.set(rate, this.#counters.createRate(this.id, rate, limit, now));
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
