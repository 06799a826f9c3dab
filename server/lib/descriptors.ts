/** File descriptors: whether the process can open another file or socket, and spare descriptors for a shortage. */
import { closeSync, openSync } from "node:fs";
import { errorCode } from "./error-code.ts";

/** No descriptor is left: of the process (`ulimit -n`), or of the whole system. */
export type DescriptorShortage = "EMFILE" | "ENFILE";

/** Opens a file as a test. Undefined if the file opens, or fails to open for another reason. */
export function descriptorShortage(): DescriptorShortage | undefined {
  try {
    closeSync(openSync("/dev/null", "r"));
    return undefined;
  } catch (error) {
    const code = errorCode(error);
    return code === "EMFILE" || code === "ENFILE" ? code : undefined;
  }
}

const spareCount = 8;

/**
 * Detects that the process is out of file descriptors. The listening socket then stays readable and accepts no
 * connection, which keeps a core busy without any error. Some spare descriptors are released in that case, so that
 * connections can be accepted and refused.
 */
export class SpareDescriptors {
  #spares: number[] = [];

  /**
   * Opens the spare descriptors. False if the process has no descriptor left: then all spare descriptors are released.
   */
  open(): boolean {
    try {
      while (this.#spares.length < spareCount) this.#spares.push(openSync("/dev/null", "r"));
    } catch {
      // The shortage is detected below, before the spare descriptors are released.
    }
    // One more descriptor must be available, or the next connection cannot be accepted.
    const isOut = descriptorShortage() !== undefined;
    if (isOut || this.#spares.length < spareCount) this.release();
    return !isOut;
  }

  release(): void {
    for (const descriptor of this.#spares.splice(0)) closeSync(descriptor);
  }
}
