/** Latency statistics of one target by request size class, and the attempt timeout that follows from them. */

import { DecayingMean } from "./decaying-mean.ts";
import { LatencyWindow } from "./latency-window.ts";

/** Only latencies of one size class are compared with each other. */
export const sizeClasses = 4;

/** The shortest attempt timeout. */
const minTimeoutMs = 1000;
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

  /**
   * A client that disconnects after this long counts as a timeout of the target. For a small request with few
   * measurements that is two seconds: if the model is only being loaded, a few more clients get a retryable error, and
   * nothing is lost.
   */
  abandonedMs(size: number, peers: readonly { readonly latency: LatencyStats }[]): number {
    const timeout = this.timeoutMs(size, peers);
    if (size > 0 || this.p99Ms(size) !== undefined) return timeout;
    return Math.min(timeout, Math.max(2 * minTimeoutMs, 10 * (this.lastMeanMs(size) ?? 0)));
  }
}
