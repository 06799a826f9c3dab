/**
 * Notices that the process is out of file descriptors. The listening socket then stays readable and accepts nothing,
 * which keeps a core busy and tells nobody. Some spare descriptors are released in that case, so that connections can
 * be accepted and refused.
 */
import { closeSync, openSync } from "node:fs";
import { codeOf } from "../../lib/error-code.ts";

const spareCount = 8;
/** Of the process, and of the whole system. */
const exhausted: ReadonlySet<string> = new Set(["EMFILE", "ENFILE"]);

export class SpareDescriptors {
  #held: number[] = [];

  /** Takes the spare descriptors back. False where that is impossible; they are all free then. */
  hold(): boolean {
    try {
      while (this.#held.length < spareCount) this.#held.push(openSync("/dev/null", "r"));
      // One more than is held must be possible, or the next connection cannot be accepted.
      closeSync(openSync("/dev/null", "r"));
      return true;
    } catch (error) {
      this.release();
      return !exhausted.has(codeOf(error));
    }
  }

  release(): void {
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }
}
