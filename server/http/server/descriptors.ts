/**
 * Detects that the process is out of file descriptors. The listening socket then stays readable and accepts nothing,
 * which keeps a core busy without any error. Some spare descriptors are released in that case, so that connections can
 * be accepted and refused.
 */
import { closeSync, openSync } from "node:fs";
import { descriptorShortage } from "../../lib/descriptors.ts";

const spareCount = 8;

export class SpareDescriptors {
  #held: number[] = [];

  /**
   * Opens the spare descriptors. False if the process has no descriptor left: then all spare descriptors are released.
   */
  hold(): boolean {
    try {
      while (this.#held.length < spareCount) this.#held.push(openSync("/dev/null", "r"));
    } catch {
      // The shortage is detected below, before the spare descriptors are released.
    }
    // One more descriptor must be available, or the next connection cannot be accepted.
    const isOut = descriptorShortage() !== undefined;
    if (isOut || this.#held.length < spareCount) this.release();
    return !isOut;
  }

  release(): void {
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }
}
