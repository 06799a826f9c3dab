/**
 * Which calls to a model's only target are measured and watched. Nobody could be asked in its place, so while it is well
 * some are enough to know what is usual, and to notice that it is not; the others are spared the work. How many is a
 * matter of time and not of calls: where there are few all of them are, and where there are many it costs next to nothing.
 */
import type { Timers } from "../../lib/timers.ts";

/** So many at first, so that it is known what is usual. */
const first = 32;
/** Then at most so many in so long. */
const most = 10;
const windowMs = 100;

export class Sampling {
  /** The next one is measured. Read for every call, so it is a field. */
  due = true;
  #taken = 0;
  #inWindow = 0;
  #wary = false;

  /** One is. */
  take(timers: Timers): void {
    if (this.#taken < first) {
      this.#taken++;
      return;
    }
    if (this.#inWindow++ === 0) timers.start(windowMs, this.#begin);
    if (this.#inWindow >= most && !this.#wary) this.due = false;
  }

  readonly #begin = (): void => {
    this.#inWindow = 0;
    this.due = true;
  };

  /** It failed, or says nothing for long: every call is, until one is answered. */
  beWary(): void {
    this.#wary = true;
    this.due = true;
  }

  beAtEase(): void {
    this.#wary = false;
  }
}
