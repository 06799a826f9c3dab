/**
 * Hot reload of the configuration: loads file, environment, store and keys at startup, and replaces the config snapshot
 * when one of them changes.
 */
import { generateKey } from "../auth/generate-key.ts";
import { withKeyChanges } from "../config/build-snapshot.ts";
import { builtInUpstreams } from "../config/built-in-upstreams.ts";
import { unknownReferenceWarnings } from "../config/config-warnings.ts";
import { ConfigEntities } from "../config/entities/config-entities.ts";
import { fromEnvironment } from "../config/environment.ts";
import { KeyMap } from "../config/key-map.ts";
import { composeSnapshot, type LoadedSnapshot } from "../config/load-snapshot.ts";
import { describeProblems, type Problem } from "../config/problem.ts";
import { publishChanges } from "../config/publish-changes.ts";
import { createStoredKeyReader } from "../config/read-stored-keys.ts";
import { SnapshotHolder } from "../config/snapshot-holder.ts";
import { repeat, storeSource } from "../config/sources/store-source.ts";
import type { StoredConfig } from "../config/sources/stored-config.ts";
import { readYaml, watchFile } from "../config/sources/yaml-source.ts";
import { type StoredKeyChange, StoredKeys } from "../config/stored-keys.ts";
import { watchConfig } from "../config/watch-config.ts";
import { createSerialize } from "../lib/tasks.ts";
import type { Log } from "../observe/log.ts";
import type { Settings } from "../settings.ts";
import type { SecretBox } from "../storage/encrypt-secret.ts";
import type { ConfigEntityStore } from "../storage/ports/config-entity-store.ts";
import type { KeyStore } from "../storage/ports/key-store.ts";
import { inspectModelDirectory } from "../workers/embedding/model-directory.ts";
import type { EventsWiring } from "./events.ts";

interface ConfigurationOptions {
  readonly settings: Settings;
  /** The setting or option that names the configuration file. Undefined: the path is the default. */
  readonly configNamedBy: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly keys: KeyStore;
  readonly entities: ConfigEntityStore;
  readonly secrets: SecretBox;
  readonly migan: boolean;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Undefined until the gateway is built, which needs the configuration first. */
  readonly events: () => Pick<EventsWiring, "emit" | "onKeysChanged"> | undefined;
}

const pollKeysEveryMs = 500;

export async function loadConfiguration(options: ConfigurationOptions) {
  const { settings, configNamedBy, env, keys, entities, secrets, migan, log, events } = options;
  const path = settings.VEXEL_CONFIG;
  const inspectFolder = inspectModelDirectory;
  // Read once: variables do not change while the process runs.
  const environment = fromEnvironment(env, options.now());
  const provisioned = {
    environment: environment.upstreams,
    builtInModels: builtInUpstreams({ migan }),
  };
  const readFile = () =>
    readYaml({ path, namedBy: configNamedBy, env, provisioned, inspectFolder });
  const entitySource = storeSource({
    store: entities,
    secrets,
    reportUnreadable: (error) => log.error("config-store-unreadable", { reason: String(error) }),
  });

  const read = readFile();
  if (!read.ok) return { ok: false, problems: describeProblems(read.problems) } as const;
  // The last valid file: changes in the store are applied while the file has an error.
  let yaml = read;
  let stored = await entitySource.load();
  const readKeyChanges = createStoredKeyReader(keys);
  let storedKeys = StoredKeys.empty.withChanges(await readKeyChanges());
  const compose = (version: number): LoadedSnapshot =>
    composeSnapshot(
      { yaml, environment, builtInModels: provisioned.builtInModels, stored, storedKeys },
      { version, now: options.now(), inspectFolder },
    );

  const first = compose(1);
  let lastWarnings = first.warnings;
  for (const warning of lastWarnings) log.warn("config-warning", { warning });
  const holder = new SnapshotHolder(first.snapshot);
  const reportReload = (changes: string, warnings: readonly string[]): void => {
    log.info("config-reloaded", { changes });
    for (const warning of warnings) log.warn("config-warning", { warning });
    events()?.emit({ type: "config.reloaded", data: { changes } });
  };
  // Serialized: a snapshot that was begun for one source must not overwrite a later change of another source. The
  // database is read before, one read at a time: if it does not respond, changes of the file must not wait for it.
  const serialize = createSerialize();
  const [serializeEntities, serializeKeys] = [createSerialize(), createSerialize()];

  let fileProblem: string | undefined;
  const stopWatchingFile = watchConfig({
    path,
    watch: (apply) => watchFile({ path, onChange: (state) => serialize(() => apply(state)) }),
    holder,
    startsEmpty: Object.keys(read.raw).length === 0,
    load: async (version) => {
      const loaded = readFile();
      if (!loaded.ok) return loaded;
      yaml = loaded;
      return compose(version);
    },
    report: (problems: readonly Problem[]): void => {
      const descriptions = problems.map((problem) => describeProblems([problem]));
      fileProblem = descriptions[0];
      for (const reason of descriptions) log.error("config-rejected", { reason });
      events()?.emit({ type: "config.rejected", data: { problems: descriptions } });
    },
    reloaded: (changes, warnings) => {
      fileProblem = undefined;
      lastWarnings = warnings;
      reportReload(changes, warnings);
    },
  });

  const applyEntities = async (loaded: StoredConfig): Promise<void> => {
    stored = loaded;
    const { snapshot, warnings } = compose(holder.current().version + 1);
    const changes = publishChanges(holder, snapshot);
    const newWarnings = warnings.filter((warning) => !lastWarnings.includes(warning));
    lastWarnings = warnings;
    if (changes !== "" || newWarnings.length > 0)
      reportReload(changes || "nothing changed", newWarnings);
  };
  const applyEntityChanges = (): Promise<void> =>
    serializeEntities(async () => {
      const loaded = await entitySource.load();
      await serialize(() => applyEntities(loaded));
    });
  const stopWatchingStore = entitySource.watch(applyEntityChanges);

  const applyKeys = async (changes: readonly StoredKeyChange[]): Promise<void> => {
    const snapshot = holder.replace((current) => withKeyChanges(current, changes));
    if (snapshot.keys instanceof KeyMap) storedKeys = snapshot.keys.stored;
    log.info("keys-changed", { keys: snapshot.keys.size, changed: changes.length });
    const changedKeys = changes.filter(({ isRevoked }) => !isRevoked).map(({ key }) => key);
    for (const warning of unknownReferenceWarnings(changedKeys, snapshot)) {
      log.warn("config-warning", { warning });
    }
  };
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
      // The last valid file, which is in force.
      sources: async () => ({ yaml, environment, builtInModels: provisioned.builtInModels }),
      inspectFolder,
      now: options.now,
    }),
    /** Publishes changes of stored entities now, instead of at the next poll. */
    applyEntityChanges,
    /** Creates a key if there is none. Its text is not stored, so it must be shown now. */
    firstKey: async (): Promise<string | undefined> => {
      // Emits events for keys that were changed while no gateway was running.
      await events()?.onKeysChanged(keys);
      if (holder.current().keys.size > 0) return undefined;
      const { text, key } = generateKey("default", ["*"], {}, options.now());
      await keys.create(key);
      await applyKeyChanges();
      return text;
    },
    close: () => {
      stopWatchingFile();
      stopWatchingStore();
      stopPollingKeys();
    },
  };
}
