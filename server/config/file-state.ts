/** The state of a file that is watched: whether it exists, and a fingerprint that shows changes. */

import { stat } from "node:fs/promises";
import { errorCode } from "../lib/error-code.ts";

export interface FileState {
  readonly state: "present" | "empty" | "absent";
  /** Changes whenever the file may have changed. */
  readonly fingerprint: string;
}

export async function readFileState(path: string): Promise<FileState> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    const fingerprint = [dev, ino, size, mtimeNs, ctimeNs].join(" ");
    return { state: size === 0n ? "empty" : "present", fingerprint };
  } catch (error) {
    const code = errorCode(error);
    return { state: code === "ENOENT" ? "absent" : "present", fingerprint: code };
  }
}
