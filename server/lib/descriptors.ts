/** Whether the process can open another file or socket. */
import { closeSync, openSync } from "node:fs";
import { errorCode } from "./error-code.ts";

/** No descriptor is left: of the process (`ulimit -n`), or of the whole system. */
export type DescriptorShortage = "EMFILE" | "ENFILE";

/** Opens a file to find out. Undefined where that works, or fails for another reason. */
export function descriptorShortage(): DescriptorShortage | undefined {
  try {
    closeSync(openSync("/dev/null", "r"));
    return undefined;
  } catch (error) {
    const code = errorCode(error);
    return code === "EMFILE" || code === "ENFILE" ? code : undefined;
  }
}
