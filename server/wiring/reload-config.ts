/**
 * Hot reload of the configuration: loads file, environment and stored keys at startup, and replaces the config snapshot
 * when the file or the keys change.
 */

import { unknownReferenceWarnings, withStoredKeys } from "../config/build-snapshot.ts";
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
  /** Undefined until the gateway is built, which needs the configuration first. */
  readonly events: () => Pick<EventsWiring, "emit" | "onKeysChanged"> | undefined;
}

export type LoadedConfiguration =
  | {
      readonly ok: true;
      readonly snapshot: () => Snapshot;
      /** Creates a key if there is none. Its text is not stored, so it must be shown now. */
      firstKey(): string | undefined;
      close(): void;
    }
  | { readonly ok: false; readonly problems: string };

const pollKeysEveryMs = 500;

export function loadConfiguration(options: ConfigurationOptions): LoadedConfiguration {
  const { settings, configNamed, env, keys, migan, log, events } = options;
  const path = settings.VEXEL_CONFIG;
  const load = (version: number): Loaded =>
    loadSnapshot({
      path,
      required: configNamed,
      env,
      storedKeys: activeKeys(keys),
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
    const descriptions = problems.map((problem) => describeProblems([problem]));
    events()?.emit({ type: "config.rejected", data: { problems: descriptions } });
  };
  const watcher = watchConfig({
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

  const applyStoredKeys = (): Snapshot =>
    holder.replace((now) => withStoredKeys(now, activeKeys(keys)));
  let appliedVersion = keys.version();
  let isReadable = true;
  const pollKeys = (): void => {
    try {
      const now = keys.version();
      if (now !== appliedVersion) {
        const before = new Set(unknownReferenceWarnings(holder.current()));
        const taken = applyStoredKeys();
        log.info("keys-changed", { keys: taken.keys.size });
        for (const warning of unknownReferenceWarnings(taken)) {
          if (!before.has(warning)) log.warn("config-warning", { warning });
        }
        events()?.onKeysChanged(keys.list());
      }
      appliedVersion = now;
      isReadable = true;
    } catch (error) {
      // The keys loaded so far stay in force. Logged once; retried at every poll.
      if (isReadable) log.error("keys-unreadable", { reason: String(error) });
      isReadable = false;
    }
  };
  const pollTimer = setInterval(pollKeys, pollKeysEveryMs);

  return {
    ok: true,
    snapshot: holder.current,
    firstKey: () => {
      // Emits events for keys that were changed while no gateway was running.
      events()?.onKeysChanged(keys.list());
      if (holder.current().keys.size > 0) return undefined;
      const { key } = keys.create("default", ["*"]);
      applyStoredKeys();
      events()?.onKeysChanged(keys.list());
      return key;
    },
    close: () => {
      watcher.close();
      clearInterval(pollTimer);
    },
  };
}

const activeKeys = (keys: KeyStore): Key[] =>
  keys
    .list()
    .filter(({ revokedAt }) => revokedAt === null)
    .map(({ hint, createdAt, revokedAt, ...key }) => ({ ...key, source: "store" }));
