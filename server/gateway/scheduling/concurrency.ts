/**
 * How many calls at a time do a target good: more while it keeps up, fewer when it says that it is too much. It is a
 * wish and no wall: beyond it others are preferred, and where there is nobody else the call goes there all the same.
 */

const first = 16;
const least = 4;
const most = 4096;
const afterRecovery = 8;
/** Many calls that fail in one moment are one piece of news. */
const calmMs = 100;

export class Concurrency {
  #limit = first;
  #loweredAt = Number.NEGATIVE_INFINITY;

  get limit(): number {
    return Math.floor(this.#limit);
  }

  hasRoom(inFlight: number): boolean {
    return inFlight < this.#limit;
  }

  /** It answered, with so many under way. */
  kept(inFlight: number): void {
    // A limit that nobody comes near has proved nothing.
    if (inFlight < this.#limit * 0.8) return;
    this.#limit = Math.min(most, this.#limit + 8 / this.#limit);
  }

  tooMuch(now: number): void {
    const since = now - this.#loweredAt;
    if (since >= 0 && since < calmMs) return;
    this.#loweredAt = now;
    this.#limit = Math.max(least, this.#limit * 0.7);
  }

  beginAnew(): void {
    this.#limit = Math.min(this.#limit, afterRecovery);
  }
}
