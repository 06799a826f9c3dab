/** One run for each output at a time. */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { lockFile } from "../../server/storage/sqlite/lock-file.ts";
import { UsageError } from "../command.ts";
import type { OutputPaths } from "./output/write-output.ts";

/** Throws UsageError if there is no such folder. */
export function checkOutputFolder({ output }: OutputPaths): void {
  const folder = dirname(output);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--output: the folder ${folder} does not exist`);
}

/** Throws UsageError if another run has the output, or if its folder cannot be written to. */
export function lockOutput(paths: OutputPaths): Disposable {
  checkOutputFolder(paths);
  const lock = openLock(paths);
  if (lock) return lock;
  throw new UsageError(
    `--output: another run is writing ${paths.output}. Wait for its end, or name another file`,
  );
}

function openLock({ lock, output }: OutputPaths): Disposable | undefined {
  try {
    return lockFile(lock);
  } catch {
    throw new UsageError(`--output: no file can be written to the folder ${dirname(output)}`);
  }
}
