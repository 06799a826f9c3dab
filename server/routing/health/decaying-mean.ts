/**
 * Exponentially weighted moving average (EWMA) of a target's latency, as in Peak EWMA load balancing. It decays while no
 * response arrives: a target that was slow once must be tried again to show that it no longer is.
 */

const weight = 0.2;
const decayMs = 2000;

export class DecayingMean {
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
    const silent = now - this.#at;
    // Most reads come within 100 ms of a response and skip the exponential.
    return silent < 100 ? this.#ms : this.#ms * Math.exp(-silent / decayMs);
  }
}
