/** Hot reload: reloads the configuration file atomically when it changes. */
import type { Loaded } from "./load-snapshot.ts";
import type { FilePresence } from "./poll-files.ts";
import { aboutFile, type Problem } from "./problem.ts";
import { publishChanges } from "./publish-changes.ts";
import type { SnapshotHolder } from "./snapshot-holder.ts";

interface WatchOptions {
  /** The path of the file, which the reported problems contain. */
  readonly path: string;
  /** Calls `onChange` after each change of the file. Returns the function that ends the watch. */
  watch(onChange: (state: FilePresence) => Promise<void>): () => void;
  readonly holder: SnapshotHolder;
  /**
   * The file was empty or absent at the start. Then an empty file is accepted; otherwise it counts as a write in
   * progress.
   */
  readonly startsEmpty: boolean;
  /** Loads the current configuration as a snapshot of this version. */
  load(version: number): Promise<Loaded>;
  /** Called if the file is invalid or deleted: the old snapshot stays. */
  report(problems: readonly Problem[]): void;
  /** A new snapshot is in force; `changes` is such as `2 models added`. */
  reloaded(changes: string, warnings: readonly string[]): void;
}

/** Returns the function that ends the watch. */
export function watchConfig(options: WatchOptions): () => void {
  let applied: FilePresence = options.startsEmpty ? "empty" : "present";
  let hasFailed = false;
  return options.watch(async (now) => {
    hasFailed = !(await applyChange(now, { applied, hasFailed }, options));
    if (!hasFailed) applied = now;
  });
}

/** Returns whether the configuration was applied. */
async function applyChange(
  current: FilePresence,
  previous: { readonly applied: FilePresence; readonly hasFailed: boolean },
  { path, holder, load, report, reloaded }: WatchOptions,
): Promise<boolean> {
  const refuse = (...problems: readonly Problem[]) => {
    report(problems);
    return false;
  };
  // Probably a write in progress: the file is truncated first.
  if (current !== "present" && previous.applied === "present") {
    const what = current === "empty" ? "is empty" : "was deleted";
    return refuse(aboutFile(path, `${what}: the previous configuration stays in force`));
  }
  try {
    const loaded = await load(holder.current().version + 1);
    if (!loaded.ok) return refuse(...loaded.problems);
    const changes = publishChanges(holder, loaded.snapshot);
    if (changes !== "" || previous.hasFailed)
      reloaded(changes || "nothing changed", loaded.warnings);
    return true;
  } catch (error) {
    // A bug of the gateway, not a problem of the file: it must not stop a running gateway.
    return refuse(aboutFile(path, `could not be applied: ${error}`));
  }
}
