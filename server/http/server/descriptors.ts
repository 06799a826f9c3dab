/**
 * Notices that the process is out of file descriptors. The listening socket then stays readable and accepts nothing,
 * which keeps a core busy and tells nobody. Some spare descriptors are released in that case, so that connections can
 * be accepted and refused.
 */
import { closeSync, openSync } from "node:fs";
import { descriptorShortage } from "../../lib/descriptors.ts";

const spareCount = 8;

export class SpareDescriptors {
  #held: number[] = [];

  /** Takes the spare descriptors back. False where that is impossible; they are all free then. */
  hold(): boolean {
    try {
      while (this.#held.length < spareCount) this.#held.push(openSync("/dev/null", "r"));
    } catch {
      // Looked at below, before the others are released.
    }
    // One more than is held must be possible, or the next connection cannot be accepted.
    const isOut = descriptorShortage() !== undefined;
    if (isOut || this.#held.length < spareCount) this.release();
    return !isOut;
  }

  release(): void {
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }
}
