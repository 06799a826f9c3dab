/**
 * How a target that draws comes back while another one serves. Its pictures are paid for by those who order them, so a
 * question that costs nothing looks first; only then one order may try, and after one that failed at most one in twenty.
 */

/** So many orders go elsewhere before the next one tries. */
const spared = 19;
/** Whatever the free question says: some upstreams have none that works. */
const longestMs = 300_000;

export class Trial {
  /** The free question was answered. */
  #cleared = false;
  #asking = false;
  #failed = false;
  #passed = 0;
  #since: number;

  constructor(now: number) {
    this.#since = now;
  }

  /** One order goes elsewhere. True: now is the time for the free question. */
  pass(): boolean {
    this.#passed++;
    if (this.#cleared || this.#asking) return false;
    this.#asking = true;
    return true;
  }

  answered(isThere: boolean): void {
    this.#asking = false;
    this.#cleared = isThere;
  }

  /** One order may be sent there. */
  mayTry(now: number): boolean {
    if (now < this.#since) this.#since = now;
    if (!this.#cleared && now - this.#since < longestMs) return false;
    return !this.#failed || this.#passed >= spared;
  }

  /** An order was sent there, and failed. */
  failed(now: number): void {
    this.#failed = true;
    this.#cleared = false;
    this.#passed = 0;
    this.#since = now;
  }
}
