/** Hot reload: reloads the configuration file atomically when it changes. */
import { describeChanges } from "./describe-changes.ts";
import type { FileState } from "./file-state.ts";
import type { Loaded } from "./load-snapshot.ts";
import { pollFiles } from "./poll-files.ts";
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

export function watchConfig(options: WatchOptions): { close(): void } {
  let applied: FileState | undefined;
  let hasFailed = false;
  return pollFiles({
    paths: [options.path],
    onChange: ([now]) => {
      if (!now) return;
      hasFailed = !applyChange(now, { state: applied, hasFailed }, options);
      applied = now;
    },
    ...(options.pollMs !== undefined && { pollMs: options.pollMs }),
    ...(options.settleMs !== undefined && { settleMs: options.settleMs }),
  });
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
