/** How a key is known: by its SHA-256 in hex. Keys are long and random, so nothing slower is needed. */
import { createHash } from "node:crypto";

export const keyHash = (key: string): string => createHash("sha256").update(key).digest("hex");
