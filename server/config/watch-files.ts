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
  reloaded(what: string, warnings: readonly string[]): void;
  readonly everyMs?: number;
  /** How long a change must have rested before it is read. */
  readonly restMs?: number;
}

// A file that never rests is read all the same, within a second.
const mostRests = 4;

export function watchConfig(options: WatchOptions): { close(): void } {
  const { path, everyMs = 300, restMs = 100 } = options;
  let timer: ReturnType<typeof setTimeout>;
  let closed = false;
  let done: Look | undefined;
  let seen: Look | undefined;
  let rests = 0;
  let bad = false;

  const look = async () => {
    const now = await lookAt(path);
    if (closed) return;
    const rested = seen?.mark === now.mark || rests >= mostRests;
    seen = now;
    if (now.mark === done?.mark) rests = 0;
    else if (!rested) rests += 1;
    else {
      rests = 0;
      bad = !settle(now, { look: done, bad }, options);
      done = now;
    }
    wait(rests > 0 ? restMs : everyMs);
  };
  const wait = (ms: number) => {
    timer = setTimeout(look, ms);
    timer.unref();
  };
  // The first look reads once more what was read at the start: it may have changed in between.
  wait(restMs);
  return {
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Whether all is well afterwards. */
function settle(
  now: Look,
  before: { readonly look: Look | undefined; readonly bad: boolean },
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
    const what = describeChanges(holder.current(), loaded.snapshot);
    if (what !== "") holder.replace(() => loaded.snapshot);
    if (what !== "" || before.bad) reloaded(what || "nothing changed", loaded.warnings);
    return true;
  } catch (error) {
    // A defect of ours, not of the file; it must not take a running gateway down.
    return refuse(aboutFile(path, `could not be applied: ${error}`));
  }
}

interface Look {
  readonly state: "present" | "empty" | "absent";
  /** Different whenever the file may be. */
  readonly mark: string;
}

async function lookAt(path: string): Promise<Look> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    const mark = [dev, ino, size, mtimeNs, ctimeNs].join(" ");
    return { state: size === 0n ? "empty" : "present", mark };
  } catch (error) {
    const code = errorCode(error);
    return { state: code === "ENOENT" ? "absent" : "present", mark: code };
  }
}
