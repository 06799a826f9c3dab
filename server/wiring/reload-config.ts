/**
 * Hot reload of the configuration: loads file, environment and stored keys at startup, and replaces the config snapshot
 * when the file or the keys change.
 */

import { generateKey } from "../auth/generate-key.ts";
import { withKeyChanges } from "../config/build-snapshot.ts";
import { KeyMap } from "../config/key-map.ts";
import { unknownReferenceWarnings } from "../config/key-warnings.ts";
import { type Loaded, loadSnapshot } from "../config/load-snapshot.ts";
import { describeProblems, type Problem } from "../config/problem.ts";
import { StoredKeyReader } from "../config/read-stored-keys.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { SnapshotHolder } from "../config/snapshot-holder.ts";
import { StoredKeys } from "../config/stored-keys.ts";
import { watchConfig } from "../config/watch-files.ts";
import type { Log } from "../observe/log.ts";
import type { Settings } from "../settings.ts";
import type { KeyStore } from "../storage/ports/key-store.ts";
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
      firstKey(): Promise<string | undefined>;
      close(): void;
    }
  | { readonly ok: false; readonly problems: string };

const pollKeysEveryMs = 500;

export async function loadConfiguration(
  options: ConfigurationOptions,
): Promise<LoadedConfiguration> {
  const { settings, configNamed, env, keys, migan, log, events } = options;
  const path = settings.VEXEL_CONFIG;
  const keyReader = new StoredKeyReader(keys);
  let storedKeys = StoredKeys.empty.withChanges(await keyReader.read());
  const load = (version: number): Loaded =>
    loadSnapshot({
      path,
      required: configNamed,
      env,
      storedKeys,
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

  const applyKeyChanges = async (): Promise<void> => {
    const changes = await keyReader.read();
    if (changes.length === 0) return;
    const now = holder.replace((current) => withKeyChanges(current, changes));
    if (now.keys instanceof KeyMap) storedKeys = now.keys.stored;
    log.info("keys-changed", { keys: now.keys.size, changed: changes.length });
    const changedKeys = changes.filter(({ isRevoked }) => !isRevoked).map(({ key }) => key);
    for (const warning of unknownReferenceWarnings(changedKeys, now)) {
      log.warn("config-warning", { warning });
    }
    await events()?.onKeysChanged(keys);
  };
  let isReadable = true;
  const pollKeys = async (): Promise<void> => {
    try {
      await applyKeyChanges();
      isReadable = true;
    } catch (error) {
      // The keys loaded so far stay in force. Logged once; retried at every poll.
      if (isReadable) log.error("keys-unreadable", { reason: String(error) });
      isReadable = false;
    }
  };
  const stopPolling = repeatAfterEach(pollKeys, pollKeysEveryMs);

  return {
    ok: true,
    snapshot: holder.current,
    firstKey: async () => {
      // Emits events for keys that were changed while no gateway was running.
      await events()?.onKeysChanged(keys);
      if (holder.current().keys.size > 0) return undefined;
      const { text, key } = generateKey("default", ["*"], {}, options.now());
      await keys.create(key);
      await applyKeyChanges();
      return text;
    },
    close: () => {
      watcher.close();
      stopPolling();
    },
  };
}

/** Runs `work` again and again, each run `everyMs` after the end of the one before. Returns the function that stops it. */
function repeatAfterEach(work: () => Promise<void>, everyMs: number): () => void {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const schedule = (): void => {
    if (isStopped) return;
    timer = setTimeout(() => void work().then(schedule), everyMs);
  };
  schedule();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
