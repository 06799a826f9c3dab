/** How long one target takes, by size of call, and so how long is too long. */
import { LatencyWindow } from "../hedge-budget.ts";
import { Mean } from "./decaying-mean.ts";

/** Calls of about the same size are compared with each other. */
export const sizes = 4;

/** A call may always take this long. */
const leastPatienceMs = 1000;
/** For a size of call that is not known yet: long enough to load a model. */
const firstPatienceMs = 20_000;

export class Pace {
  readonly #recents = new Array<LatencyWindow | undefined>(sizes);
  readonly #means = new Array<Mean | undefined>(sizes);

  add(now: number, ms: number, size: number): void {
    this.#means[size] ??= new Mean();
    this.#means[size].add(now, ms);
    this.#recents[size] ??= new LatencyWindow();
    this.#recents[size].add(ms);
  }

  meanMs(now: number, size: number): number | undefined {
    return this.#means[size]?.at(now);
  }

  /** As it was when it last answered. */
  lastMeanMs(size: number): number | undefined {
    return this.#means[size]?.last;
  }

  /** Nineteen of twenty calls of this size were quicker. */
  usualMs(size: number): number | undefined {
    return this.#recents[size]?.p95();
  }

  /** Ninety-nine of a hundred were. */
  slowMs(size: number): number | undefined {
    return this.#recents[size]?.p99();
  }

  /** No call should take longer, as long as one of its peers could be asked. */
  patienceMs(size: number, peers: readonly { readonly pace: Pace }[]): number {
    const own = this.slowMs(size);
    if (own !== undefined) return Math.max(leastPatienceMs, 4 * own);
    // Of one that is not known yet, what is known of the others is the best guess.
    let guess = 0;
    for (const { pace } of peers) {
      guess = Math.max(guess, pace.slowMs(size) ?? pace.lastMeanMs(size) ?? 0);
    }
    return guess === 0 ? firstPatienceMs : Math.max(2 * leastPatienceMs, 10 * guess);
  }

  /**
   * A caller who leaves after so long has waited in vain. Of a small call of which next to nothing is known, that is after
   * two seconds: if it is a model that is being loaded, a few more callers are told to come back, and nothing is lost.
   */
  vainMs(size: number, peers: readonly { readonly pace: Pace }[]): number {
    const patience = this.patienceMs(size, peers);
    if (size > 0 || this.slowMs(size) !== undefined) return patience;
    return Math.min(patience, Math.max(2 * leastPatienceMs, 10 * (this.lastMeanMs(size) ?? 0)));
  }
}
