/**
 * Watches files for changes. Polls instead of subscribing to file events: an editor that renames a file and a symlink
 * that Kubernetes replaces then look like any other change.
 */

import { stat } from "node:fs/promises";
import { errorCode } from "../lib/error-code.ts";

interface PollOptions {
  readonly paths: readonly string[];
  /** Called with the states of the files at the first poll, and whenever one of them has changed. */
  onChange(states: readonly FileState[]): Promise<void>;
  readonly pollMs?: number;
  /** Changed files must stay unchanged for this long before they are read. */
  readonly settleMs?: number;
}

const usualPollMs = 300;
const usualSettleMs = 100;
// Files that keep changing are read nevertheless.
const maxDelays = 4;
/** A changed file is read within this time. */
export const maxPollDelayMs = usualPollMs + maxDelays * usualSettleMs;

export function pollFiles(options: PollOptions): { close(): void } {
  const { paths, onChange, pollMs = usualPollMs, settleMs = usualSettleMs } = options;
  let timer: ReturnType<typeof setTimeout>;
  let closed = false;
  let applied: string | undefined;
  let seen: string | undefined;
  let delays = 0;

  const poll = async () => {
    const states = await Promise.all(paths.map(readFileState));
    if (closed) return;
    const fingerprints = states.map(({ fingerprint }) => fingerprint).join(", ");
    const isStable = seen === fingerprints || delays >= maxDelays;
    seen = fingerprints;
    if (fingerprints === applied) delays = 0;
    else if (!isStable) delays += 1;
    else {
      delays = 0;
      await onChange(states);
      applied = fingerprints;
    }
    if (!closed) schedule(delays > 0 ? settleMs : pollMs);
  };
  const schedule = (ms: number) => {
    timer = setTimeout(poll, ms);
    timer.unref();
  };
  // The first poll reads the files again: they may have changed since the start.
  schedule(settleMs);
  return {
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** An empty or absent file may be a write in progress, so it does not replace a configuration that works. */
export type FilePresence = "present" | "empty" | "absent";

/** The state of a file that is watched: whether it exists, and a fingerprint that shows changes. */
interface FileState {
  readonly state: FilePresence;
  /** Changes whenever the file may have changed. */
  readonly fingerprint: string;
}

async function readFileState(path: string): Promise<FileState> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    const fingerprint = [dev, ino, size, mtimeNs, ctimeNs].join(" ");
    return { state: size === 0n ? "empty" : "present", fingerprint };
  } catch (error) {
    const code = errorCode(error);
    return { state: code === "ENOENT" ? "absent" : "present", fingerprint: code };
  }
}
