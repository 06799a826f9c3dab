/** Files that may be gone at any moment, because they expire. */
import type { Stats } from "node:fs";
import { stat, unlink } from "node:fs/promises";

/** Undefined where there is none. */
export const look = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);

/** What cannot be taken away now is tried again with the next sweep. */
export const remove = (path: string): Promise<void> => unlink(path).catch(() => undefined);
