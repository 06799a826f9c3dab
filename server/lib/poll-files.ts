/**
 * Watches files for changes. Polls instead of subscribing to file events: an editor that renames a file and a symlink
 * that Kubernetes replaces then look like any other change.
 */

import { stat } from "node:fs/promises";
import { errorCode } from "./error-code.ts";

interface PollOptions {
  readonly paths: readonly string[];
  /** Called at the first poll, and whenever one of the files has changed. */
  onChange(): Promise<void>;
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
    const fingerprints = (await Promise.all(paths.map(fingerprintOf))).join(", ");
    if (closed) return;
    const isStable = seen === fingerprints || delays >= maxDelays;
    seen = fingerprints;
    if (fingerprints === applied) delays = 0;
    else if (!isStable) delays += 1;
    else {
      delays = 0;
      await onChange();
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

/** Changes whenever the file may have changed. */
async function fingerprintOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch (error) {
    return errorCode(error);
  }
}
