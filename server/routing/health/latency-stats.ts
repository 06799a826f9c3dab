/**
 * Latency statistics of one target by request size class, moving average and p95, and the attempt timeout that follows
 * from them.
 */

import type { EmbeddingsQuery } from "../../upstream/contract.ts";

/** Only latencies of one size class are compared with each other. */
export const sizeClasses = 4;
/** The upper bounds of the size classes in characters; the last class has none. A token counts as four characters. */
const sizeBounds = [8192, 65_536, 524_288] as const;
const [, , largest] = sizeBounds;

/** The size class of an embeddings request: a thousand texts may take a hundred times as long as one. */
export function requestSizeClassOf({ input }: EmbeddingsQuery): number {
  // Images are compared with images: a target takes longer for one than for a short text.
  if (input.kind === "mixed") return sizeBounds.length;
  const list = input.kind === "text" ? input.texts : input.tokens;
  const charactersPerUnit = input.kind === "text" ? 1 : 4;
  let sum = 0;
  for (const { length } of list) {
    sum += length * charactersPerUnit;
    if (sum >= largest) return sizeBounds.length;
  }
  let size = 0;
  while (sum >= (sizeBounds[size] as number)) size++;
  return size;
}

/** The shortest attempt timeout. */
export const minTimeoutMs = 1000;
/** For a size class without any measurement: long enough to load a model. */
const initialTimeoutMs = 20_000;

export class LatencyStats {
  readonly #windows = new Array<LatencyWindow | undefined>(sizeClasses);
  readonly #means = new Array<DecayingMean | undefined>(sizeClasses);

  add(now: number, ms: number, size: number): void {
    this.#means[size] ??= new DecayingMean();
    this.#means[size].add(now, ms);
    this.#windows[size] ??= new LatencyWindow();
    this.#windows[size].add(ms);
  }

  meanMs(now: number, size: number): number | undefined {
    return this.#means[size]?.at(now);
  }

  /** The mean without decay. */
  lastMeanMs(size: number): number | undefined {
    return this.#means[size]?.undecayed;
  }

  p95Ms(size: number): number | undefined {
    return this.#windows[size]?.p95();
  }

  p99Ms(size: number): number | undefined {
    return this.#windows[size]?.p99();
  }

  /** The attempt timeout while another target could be tried. */
  timeoutMs(size: number, peers: readonly { readonly latency: LatencyStats }[]): number {
    const own = this.p99Ms(size);
    if (own !== undefined) return Math.max(minTimeoutMs, 4 * own);
    // For a target without measurements, the latency of its peers is the best estimate.
    let estimateMs = 0;
    for (const { latency } of peers) {
      estimateMs = Math.max(estimateMs, latency.p99Ms(size) ?? latency.lastMeanMs(size) ?? 0);
    }
    return estimateMs === 0 ? initialTimeoutMs : Math.max(2 * minTimeoutMs, 10 * estimateMs);
  }
}

/** The number of latencies kept. */
const capacity = 128;
/** With fewer latencies the percentiles are unknown. */
const minLatencySamples = 20;
/** Percentiles are computed again after this many additions: they hardly change from request to request. */
const recomputeEvery = 16;

/** The 95th and the 99th percentile (p95, p99) of the latest latencies. */
class LatencyWindow {
  readonly #latencies = new Float64Array(capacity);
  #count = 0;
  #p95: number | undefined;
  #p99: number | undefined;

  add(ms: number): void {
    this.#latencies[this.#count % capacity] = ms;
    this.#count++;
    if (this.#count >= minLatencySamples && this.#count % recomputeEvery === 0)
      this.#p95 = undefined;
  }

  /** Undefined with too few latencies. */
  p95(): number | undefined {
    if (this.#count < minLatencySamples) return undefined;
    if (this.#p95 === undefined) this.#compute();
    return this.#p95;
  }

  p99(): number | undefined {
    if (this.#count < minLatencySamples) return undefined;
    if (this.#p95 === undefined) this.#compute();
    return this.#p99;
  }

  #compute(): void {
    const sorted = this.#latencies.slice(0, Math.min(this.#count, capacity)).sort();
    this.#p95 = sorted[Math.floor(sorted.length * 0.95)];
    this.#p99 = sorted[Math.floor(sorted.length * 0.99)];
  }
}

const weight = 0.2;
const decayMs = 2000;

/**
 * Exponentially weighted moving average (EWMA) of a target's latency, as in Peak EWMA load balancing. It decays while
 * no response arrives: a target that was slow once must be tried again to show that it no longer is.
 */
class DecayingMean {
  #ms: number | undefined;
  #at = 0;

  add(now: number, ms: number): void {
    this.#ms = this.#ms === undefined ? ms : this.#ms + (ms - this.#ms) * weight;
    this.#at = now;
  }

  /** Without decay. */
  get undecayed(): number | undefined {
    return this.#ms;
  }

  /** With decay. Undefined before the first response. */
  at(now: number): number | undefined {
    if (this.#ms === undefined) return undefined;
    return this.#ms * Math.exp((this.#at - now) / decayMs);
  }
}
