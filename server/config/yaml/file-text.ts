/** Reads a small text file. Neither text nor error: the file does not exist. */

import { readFileSync, statSync } from "node:fs";
import { errorCode } from "../../lib/error-code.ts";

export interface FileText {
  readonly text?: string;
  readonly error?: string;
}

const maxBytes = 1024 * 1024;
const tooLarge = { error: "is larger than 1 MiB" };

export function fileText(path: string): FileText {
  let bytes: Uint8Array;
  try {
    const about = statSync(path);
    // Reading a pipe would block.
    if (!about.isFile()) return { error: "is not a regular file" };
    if (about.size > maxBytes) return tooLarge;
    bytes = readFileSync(path);
  } catch (error) {
    const code = errorCode(error) || "unknown error";
    if (code === "ENOENT") return {};
    return { error: errorMessages[code] ?? `cannot be read (${code})` };
  }
  if (bytes.length > maxBytes) return tooLarge;
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { error: "is not UTF-8 text" };
  }
}

const errorMessages: Readonly<Record<string, string>> = {
  EACCES: "may not be read: permission denied",
  ENOTDIR: "does not exist: a part of its path is not a directory",
};
