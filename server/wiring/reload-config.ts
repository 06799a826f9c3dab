/** Keeps the snapshot true: reads file, environment and keys at the start, then follows the file and the keys. */

import { unknownProjectWarnings, withStoredKeys } from "../config/build-snapshot.ts";
import { type Loaded, loadSnapshot } from "../config/load-snapshot.ts";
import { describeProblems, type Problem } from "../config/problem.ts";
import type { Key, Snapshot } from "../config/snapshot.ts";
import { SnapshotHolder } from "../config/snapshot-holder.ts";
import { watchConfig } from "../config/watch-files.ts";
import type { Log } from "../observe/log.ts";
import type { Settings } from "../settings.ts";
import type { KeyStore } from "../storage/keys.ts";
import { inspectModelDirectory } from "../workers/embedding/model-directory.ts";
import type { EventsWiring } from "./events.ts";

export interface ConfigurationOptions {
  readonly settings: Settings;
  readonly configNamed: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly keys: KeyStore;
  readonly migan: boolean;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Undefined until the gateway is built, which needs what is read here. */
  readonly events: () => Pick<EventsWiring, "emit" | "onKeysChanged"> | undefined;
}

export type LoadedConfiguration =
  | {
      readonly ok: true;
      readonly snapshot: () => Snapshot;
      /** Makes a key if there is none at all. Its text is not kept, so it must be shown at once. */
      firstKey(): string | undefined;
      close(): void;
    }
  | { readonly ok: false; readonly problems: string };

const lookAtKeysEveryMs = 500;

export function loadConfiguration(options: ConfigurationOptions): LoadedConfiguration {
  const { settings, configNamed, env, keys, migan, log, events } = options;
  const path = settings.VEXEL_CONFIG;
  const load = (version: number): Loaded =>
    loadSnapshot({
      path,
      required: configNamed,
      env,
      storedKeys: working(keys),
      migan,
      version,
      inspectFolder: inspectModelDirectory,
      now: options.now(),
    });

  const first = load(1);
  if (!first.ok) return { ok: false, problems: describeProblems(first.problems) };
  for (const warning of first.warnings) log.warn("config-warning", { warning });

  const holder = new SnapshotHolder(first.snapshot);
  const report = (problems: readonly Problem[]): void => {
    for (const problem of problems)
      log.error("config-rejected", { problem: describeProblems([problem]) });
    const told = problems.map((problem) => describeProblems([problem]));
    events()?.emit({ type: "config.rejected", data: { problems: told } });
  };
  const watching = watchConfig({
    path,
    holder,
    load,
    report,
    reloaded: (what, warnings) => {
      log.info("config-reloaded", { what });
      for (const warning of warnings) log.warn("config-warning", { warning });
      events()?.emit({ type: "config.reloaded", data: { what } });
    },
  });

  const takeKeys = (): Snapshot => holder.replace((now) => withStoredKeys(now, working(keys)));
  let seen = keys.version();
  let readable = true;
  const lookAtKeys = (): void => {
    try {
      const now = keys.version();
      if (now !== seen) {
        const before = new Set(unknownProjectWarnings(holder.current()));
        const taken = takeKeys();
        log.info("keys-changed", { keys: taken.keys.size });
        for (const warning of unknownProjectWarnings(taken)) {
          if (!before.has(warning)) log.warn("config-warning", { warning });
        }
        events()?.onKeysChanged(keys.list());
      }
      seen = now;
      readable = true;
    } catch (error) {
      // The keys known so far stay in force; told once, tried again each time.
      if (readable) log.error("keys-unreadable", { reason: String(error) });
      readable = false;
    }
  };
  const looking = setInterval(lookAtKeys, lookAtKeysEveryMs);

  return {
    ok: true,
    snapshot: holder.current,
    firstKey: () => {
      // What happened to keys while no gateway ran is told now.
      events()?.onKeysChanged(keys.list());
      if (holder.current().keys.size > 0) return undefined;
      const { key } = keys.create("default", ["*"]);
      takeKeys();
      events()?.onKeysChanged(keys.list());
      return key;
    },
    close: () => {
      watching.close();
      clearInterval(looking);
    },
  };
}

const working = (keys: KeyStore): Key[] =>
  keys
    .list()
    .filter(({ revokedAt }) => revokedAt === null)
    .map(({ hint, createdAt, revokedAt, ...key }) => ({ ...key, source: "store" }));
