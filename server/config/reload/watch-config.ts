/** Hot reload: after a change of one source, composes a new config snapshot from all of them, and publishes it. */
import { createSerialize } from "../../lib/tasks.ts";
import type { LoadedSnapshot } from "../build/load-snapshot.ts";
import type { ConfigSources } from "../sources/config-source.ts";
import { publishChanges } from "./publish-changes.ts";
import type { SnapshotHolder } from "./snapshot-holder.ts";

interface WatchOptions<Contents> {
  readonly sources: ConfigSources<Contents>;
  /** The last valid content of each source: a change of one is applied while another has an error. */
  readonly contents: Contents;
  readonly holder: SnapshotHolder;
  /** The warnings of the current snapshot. */
  readonly warnings: readonly string[];
  /** Runs one change after the other: a snapshot begun for one source must not overwrite a later change of another. */
  readonly serialize: (work: () => Promise<void>) => Promise<void>;
  /** Composes a snapshot of this version from the contents. */
  compose(version: number): LoadedSnapshot;
  reloaded(reload: Reload<keyof Contents>): void;
}

/** A new snapshot is in force, or a source is valid again. */
interface Reload<Name> {
  readonly source: Name;
  /** Such as `2 models added`. */
  readonly changes: string;
  readonly warnings: readonly string[];
  /** The warnings that the snapshot before did not have. */
  readonly newWarnings: readonly string[];
}

export function watchConfig<Contents extends object>(options: WatchOptions<Contents>) {
  const { sources, contents, holder, serialize, compose, reloaded } = options;
  let lastWarnings = options.warnings;
  const failed = new Set<keyof Contents>();

  const publish = (source: keyof Contents): void => {
    const { snapshot, warnings } = compose(holder.current().version + 1);
    const changes = publishChanges(holder, snapshot);
    const hadFailed = failed.delete(source);
    const newWarnings = warnings.filter((warning) => !lastWarnings.includes(warning));
    lastWarnings = warnings;
    if (changes === "" && newWarnings.length === 0 && !hadFailed) return;
    reloaded({ source, changes: changes || "nothing changed", warnings, newWarnings });
  };
  const reload = async <Name extends keyof Contents>(source: Name): Promise<void> => {
    try {
      // Before `serialize`: changes of the file must not wait for a database that does not respond.
      const content = await sources[source].load();
      await serialize(async () => {
        contents[source] = content;
        publish(source);
      });
    } catch (error) {
      failed.add(source);
      throw error;
    }
  };
  const names = Object.keys(sources) as (keyof Contents)[];
  /** One load of a source at a time. */
  const loads = new Map(names.map((source) => [source, createSerialize()]));
  const apply = (source: keyof Contents): Promise<void> => loads.get(source)!(() => reload(source));
  const stops = names.map((source) => sources[source].watch(() => apply(source)));
  return {
    /** Applies a change of this source now. */
    apply,
    close: (): void => {
      for (const stop of stops) stop();
    },
  };
}
