/**
 * Reloads the configuration file atomically when it changes. Polls instead of subscribing to file events: editors that
 * rename and Kubernetes' symlinks then look the same.
 */

import { stat } from "node:fs/promises";
import { errorCode } from "../lib/error-code.ts";
import { describeChanges } from "./describe-changes.ts";
import type { Loaded } from "./load-snapshot.ts";
import { aboutFile, type Problem } from "./problem.ts";
import type { SnapshotHolder } from "./snapshot-holder.ts";

export interface WatchOptions {
  readonly path: string;
  readonly holder: SnapshotHolder;
  /** Everything as of now, as a snapshot of the version given. */
  load(version: number): Loaded;
  /** The file is bad, or gone: the old snapshot stays. */
  report(problems: readonly Problem[]): void;
  /** A new snapshot is in force; `what` is such as `2 models added`. */
  reloaded(changes: string, warnings: readonly string[]): void;
  readonly pollMs?: number;
  /** How long a change must have rested before it is read. */
  readonly settleMs?: number;
}

// A file that never rests is read all the same, within a second.
const maxDelays = 4;

export function watchConfig(options: WatchOptions): { close(): void } {
  const { path, pollMs = 300, settleMs = 100 } = options;
  let timer: ReturnType<typeof setTimeout>;
  let closed = false;
  let applied: FileState | undefined;
  let seen: FileState | undefined;
  let delays = 0;
  let hasFailed = false;

  const poll = async () => {
    const now = await readFileState(path);
    if (closed) return;
    const isStable = seen?.fingerprint === now.fingerprint || delays >= maxDelays;
    seen = now;
    if (now.fingerprint === applied?.fingerprint) delays = 0;
    else if (!isStable) delays += 1;
    else {
      delays = 0;
      hasFailed = !applyChange(now, { look: applied, bad: hasFailed }, options);
      applied = now;
    }
    schedule(delays > 0 ? settleMs : pollMs);
  };
  const schedule = (ms: number) => {
    timer = setTimeout(poll, ms);
    timer.unref();
  };
  // The first look reads once more what was read at the start: it may have changed in between.
  schedule(settleMs);
  return {
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Whether all is well afterwards. */
function applyChange(
  now: FileState,
  before: { readonly look: FileState | undefined; readonly bad: boolean },
  { path, holder, load, report, reloaded }: WatchOptions,
): boolean {
  const refuse = (...problems: readonly Problem[]) => {
    report(problems);
    return false;
  };
  if (now.state === "absent") {
    // It need not have been there ever.
    if (before.look === undefined) return true;
    return refuse(aboutFile(path, "is gone: what it said last stays in force"));
  }
  // Emptied on the way to being written anew, as like as not.
  if (now.state === "empty" && before.look)
    return refuse(aboutFile(path, "is empty: what it said last stays in force"));
  try {
    const loaded = load(holder.current().version + 1);
    if (!loaded.ok) return refuse(...loaded.problems);
    const changes = describeChanges(holder.current(), loaded.snapshot);
    if (changes !== "") holder.replace(() => loaded.snapshot);
    if (changes !== "" || before.bad) reloaded(changes || "nothing changed", loaded.warnings);
    return true;
  } catch (error) {
    // A defect of ours, not of the file; it must not take a running gateway down.
    return refuse(aboutFile(path, `could not be applied: ${error}`));
  }
}

interface FileState {
  readonly state: "present" | "empty" | "absent";
  /** Different whenever the file may be. */
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
