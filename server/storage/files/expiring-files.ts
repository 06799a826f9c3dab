/** Operations on files that expire: a file may be missing. */
import { type Stats, writeSync } from "node:fs";
import { stat, unlink } from "node:fs/promises";
import { errorCode } from "../../lib/error-code.ts";

/** Undefined if the file does not exist. */
export const statIfExists = (path: string): Promise<Stats | undefined> =>
  stat(path).catch(() => undefined);

/** Whether the file is gone. A file that cannot be deleted now is tried again with the next sweep. */
export const removeIfExists = (path: string): Promise<boolean> =>
  unlink(path).then(
    () => true,
    (error: unknown) => errorCode(error) === "ENOENT",
  );

/** One call of `writeSync` may write only a part of the bytes. */
export function writeAll(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
}
