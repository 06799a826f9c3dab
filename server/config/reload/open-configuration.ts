/**
 * Hot reload of the configuration: loads file, environment, store and keys at startup, and replaces the config snapshot
 * when one of them changes.
 */

import type { Emit } from "../../../contract/events.ts";
import type { Log } from "../../lib/log.ts";
import { createSerialize } from "../../lib/tasks.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type { ConfigEntityStore } from "../../storage/ports/config-entity-store.ts";
import type { KeyStore } from "../../storage/ports/key-store.ts";
import { withKeyChanges } from "../build/build-snapshot.ts";
import { unknownReferenceWarnings } from "../build/config-warnings.ts";
import { KeyMap } from "../build/key-map.ts";
import {
  composeSnapshot,
  type LoadedSnapshot,
  type SourceContents,
} from "../build/load-snapshot.ts";
import { type StoredKeyChange, StoredKeys } from "../build/stored-keys.ts";
import { ConfigEntities } from "../entities/config-entities.ts";
import { builtInUpstreams } from "../sources/built-in-upstreams.ts";
import type { ConfigSources } from "../sources/config-source.ts";
import { environmentSource } from "../sources/environment-source.ts";
import { createStoredKeyReader } from "../sources/read-stored-keys.ts";
import { repeat, storeSource } from "../sources/store-source.ts";
import type { InspectFolder } from "../validate/validate-references.ts";
import { describeProblems, type Problem } from "../yaml/problem.ts";
import { InvalidConfig, yamlSource } from "../yaml/yaml-source.ts";
import { SnapshotHolder } from "./snapshot-holder.ts";
import { watchConfig } from "./watch-config.ts";

interface ConfigurationOptions {
  /** The configuration file. */
  readonly path: string;
  /** The setting or option that names the file: it must exist. Undefined: the path is the default. */
  readonly namedBy: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly keys: KeyStore;
  readonly entities: ConfigEntityStore;
  readonly secrets: SecretBox;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Checks the folders of local models, so that a problem shows before the first request. */
  readonly inspectFolder: InspectFolder;
  /** Undefined until the gateway is built, which needs the configuration first. */
  readonly events: () =>
    | { readonly emit: Emit; onKeysChanged(keys: KeyStore): Promise<void> }
    | undefined;
}

export type Configuration = Extract<
  Awaited<ReturnType<typeof openConfiguration>>,
  { readonly ok: true }
>;

const pollKeysEveryMs = 500;

export async function openConfiguration(options: ConfigurationOptions) {
  const { env, keys, entities, secrets, inspectFolder, log, events } = options;
  const builtInModels = builtInUpstreams;
  const environment = environmentSource(env, options.now());
  const provisioned = { environment: (await environment.load()).upstreams, builtInModels };
  let fileProblem: string | undefined;
  const reportRejected = (problems: readonly Problem[]): void => {
    const descriptions = problems.map((problem) => describeProblems([problem]));
    fileProblem = descriptions[0];
    for (const reason of descriptions) log.error("config-rejected", { reason });
    events()?.emit({ type: "config.rejected", data: { problems: descriptions } });
  };
  const reportUnreadable = (error: unknown): void =>
    log.error("config-store-unreadable", { reason: String(error) });
  const sources: ConfigSources<SourceContents> = {
    yaml: yamlSource({
      path: options.path,
      namedBy: options.namedBy,
      env,
      provisioned,
      inspectFolder,
      reportRejected,
    }),
    stored: storeSource({ store: entities, secrets, reportUnreadable }),
    environment,
  };

  let contents: SourceContents;
  try {
    contents = {
      yaml: await sources.yaml.load(),
      stored: await sources.stored.load(),
      environment: await sources.environment.load(),
    };
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    return { ok: false, problems: describeProblems(error.problems) } as const;
  }
  const readKeyChanges = createStoredKeyReader(keys);
  let storedKeys = StoredKeys.empty.withChanges(await readKeyChanges());
  const compose = (version: number): LoadedSnapshot =>
    composeSnapshot(
      { ...contents, builtInModels, storedKeys },
      { version, now: options.now(), inspectFolder },
    );

  const { snapshot: first, warnings } = compose(1);
  for (const warning of warnings) log.warn("config-warning", { warning });
  const holder = new SnapshotHolder(first);
  const [serialize, serializeKeys] = [createSerialize(), createSerialize()];
  const watch = watchConfig({
    sources,
    contents,
    holder,
    warnings,
    serialize,
    compose,
    reloaded: ({ source, changes, ...reload }) => {
      if (source === "yaml") fileProblem = undefined;
      log.info("config-reloaded", { changes });
      // After a change of the file all warnings are logged, for the operator who corrects it.
      for (const warning of source === "yaml" ? reload.warnings : reload.newWarnings)
        log.warn("config-warning", { warning });
      events()?.emit({ type: "config.reloaded", data: { changes } });
    },
  });

  const applyKeys = async (changes: readonly StoredKeyChange[]): Promise<void> => {
    const snapshot = holder.replace((current) => withKeyChanges(current, changes));
    if (snapshot.keys instanceof KeyMap) storedKeys = snapshot.keys.stored;
    log.info("keys-changed", { keys: snapshot.keys.size, changed: changes.length });
    const changedKeys = changes.filter(({ isRevoked }) => !isRevoked).map(({ key }) => key);
    for (const warning of unknownReferenceWarnings(changedKeys, snapshot)) {
      log.warn("config-warning", { warning });
    }
  };
  // The database is read before `serialize`: if it does not respond, changes of the file must not wait for it.
  const applyKeyChanges = (): Promise<void> =>
    serializeKeys(async () => {
      const changes = await readKeyChanges();
      if (changes.length === 0) return;
      await serialize(() => applyKeys(changes));
      await events()?.onKeysChanged(keys);
    });
  let isReadable = true;
  const stopPollingKeys = repeat(pollKeysEveryMs, async () => {
    try {
      await applyKeyChanges();
      isReadable = true;
    } catch (error) {
      // The keys loaded so far stay in force. Logged once; retried at every poll.
      if (isReadable) log.error("keys-unreadable", { reason: String(error) });
      isReadable = false;
    }
  });

  return {
    ok: true as const,
    snapshot: holder.current,
    /** Calls the listener after each replacement of the config snapshot. */
    onReload: (listener: () => void): void => holder.subscribe(listener),
    /** Why the file was not applied. Undefined: the file is in force. */
    fileProblem: () => fileProblem,
    /** Applies changes of stored keys now, instead of at the next poll. */
    applyKeyChanges,
    /** Changes the entities of the store. */
    entities: new ConfigEntities({
      store: entities,
      secrets,
      // With the last valid file, which is in force.
      sources: async () => ({ ...contents, builtInModels }),
      inspectFolder,
      now: options.now,
    }),
    /** Publishes changes of stored entities now, instead of at the next poll. */
    applyEntityChanges: () => watch.apply("stored"),
    close: () => {
      watch.close();
      stopPollingKeys();
    },
  };
}
