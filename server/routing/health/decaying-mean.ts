/**
 * How long a target's answers take, the latest counting most. It fades while nothing is heard: one that was slow once
 * must be asked again some day to show that it is not.
 */

const weight = 0.2;
const fadeMs = 2000;

export class Mean {
  #ms: number | undefined;
  #at = 0;

  add(now: number, ms: number): void {
    this.#ms = this.#ms === undefined ? ms : this.#ms + (ms - this.#ms) * weight;
    this.#at = now;
  }

  /** Without any fading. */
  get last(): number | undefined {
    return this.#ms;
  }

  /** Undefined while nothing is known. */
  at(now: number): number | undefined {
    if (this.#ms === undefined) return undefined;
    const silent = now - this.#at;
    // Within a moment nothing fades, and most calls come within a moment.
    return silent < 100 ? this.#ms : this.#ms * Math.exp(-silent / fadeMs);
  }
}
