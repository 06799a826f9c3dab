/**
 * Hot reload: reloads the configuration file atomically when it changes. Polls instead of subscribing to file events:
 * editors that rename and Kubernetes' symlinks then look the same.
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
  /** Loads the current configuration as a snapshot of this version. */
  load(version: number): Loaded;
  /** Called if the file is invalid or deleted: the old snapshot stays. */
  report(problems: readonly Problem[]): void;
  /** A new snapshot is in force; `what` is such as `2 models added`. */
  reloaded(changes: string, warnings: readonly string[]): void;
  readonly pollMs?: number;
  /** A changed file must stay unchanged for this long before it is read. */
  readonly settleMs?: number;
}

// A file that keeps changing is read nevertheless, within a second.
const maxDelays = 4;

export function watchConfig(options: WatchOptions): { close(): void } {
  const { path, pollMs = 300, settleMs = 100 } = options;
  let timer: ReturnType<typeof setTimeout>;
  let closed = false;
  let applied: FileState | undefined;
  let lastSeen: FileState | undefined;
  let delays = 0;
  let hasFailed = false;

  const poll = async () => {
    const current = await readFileState(path);
    if (closed) return;
    const isStable = lastSeen?.fingerprint === current.fingerprint || delays >= maxDelays;
    lastSeen = current;
    if (current.fingerprint === applied?.fingerprint) delays = 0;
    else if (!isStable) delays += 1;
    else {
      delays = 0;
      hasFailed = !applyChange(current, { state: applied, hasFailed }, options);
      applied = current;
    }
    schedule(delays > 0 ? settleMs : pollMs);
  };
  const schedule = (ms: number) => {
    timer = setTimeout(poll, ms);
    timer.unref();
  };
  // The first poll reads the file again: it may have changed since the start.
  schedule(settleMs);
  return {
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Returns whether the configuration was applied. */
function applyChange(
  current: FileState,
  previous: { readonly state: FileState | undefined; readonly hasFailed: boolean },
  { path, holder, load, report, reloaded }: WatchOptions,
): boolean {
  const refuse = (...problems: readonly Problem[]) => {
    report(problems);
    return false;
  };
  if (current.state === "absent") {
    // There was no file before either.
    if (previous.state === undefined) return true;
    return refuse(aboutFile(path, "was deleted: the previous configuration stays in force"));
  }
  // Probably a write in progress: the file is truncated first.
  if (current.state === "empty" && previous.state)
    return refuse(aboutFile(path, "is empty: the previous configuration stays in force"));
  try {
    const loaded = load(holder.current().version + 1);
    if (!loaded.ok) return refuse(...loaded.problems);
    const changes = describeChanges(holder.current(), loaded.snapshot);
    if (changes !== "") holder.replace(() => loaded.snapshot);
    if (changes !== "" || previous.hasFailed)
      reloaded(changes || "nothing changed", loaded.warnings);
    return true;
  } catch (error) {
    // A bug of the gateway, not a problem of the file: it must not stop a running gateway.
    return refuse(aboutFile(path, `could not be applied: ${error}`));
  }
}

interface FileState {
  readonly state: "present" | "empty" | "absent";
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
