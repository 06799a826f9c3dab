/**
 * Watches files for changes. Polls instead of subscribing to file events: an editor that renames a file and a symlink
 * that Kubernetes replaces then look like any other change.
 */
import { stat } from "node:fs/promises";
import { errorCode } from "./error-code.ts";
import { repeat } from "./timers.ts";

interface PollOptions {
  readonly paths: readonly string[];
  /** Called after the first two polls, and whenever one of the files has changed. Must not reject. */
  onChange(): Promise<void>;
  readonly pollMs?: number | undefined;
}

export const pollFilesEveryMs = 300;

/** Files that differ from the poll before are probably being written: they are read at the next poll. */
export function pollFiles({ paths, onChange, pollMs = pollFilesEveryMs }: PollOptions): {
  close(): void;
} {
  let applied: string | undefined;
  let seen: string | undefined;
  const stop = repeat({ everyMs: pollMs }, async () => {
    const fingerprints = (await Promise.all(paths.map(fingerprintOf))).join(", ");
    const isStable = fingerprints === seen;
    seen = fingerprints;
    if (!isStable || fingerprints === applied) return;
    await onChange();
    applied = fingerprints;
  });
  return { close: () => void stop() };
}

/** Changes whenever the file may have changed. */
async function fingerprintOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch (error) {
    return errorCode(error);
  }
}
