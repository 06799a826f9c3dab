/**
 * Hot reload of the configuration: loads file, environment, store and keys at startup, and replaces the config snapshot
 * when the file, the store or the keys change. A snapshot has the last valid content of every source, and a database
 * that does not respond delays no change of the file.
 */
import type { Emit } from "../../../contract/events.ts";
import type { Log } from "../../lib/log.ts";
import { pollFiles } from "../../lib/poll-files.ts";
import { createSerialize, runAtOnce, runInSteps } from "../../lib/tasks.ts";
import { repeat } from "../../lib/timers.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";
import type { ConfigEntityStore } from "../../storage/sql/config-entity-store.ts";
import type { KeyStore } from "../../storage/sql/key-store.ts";
import { withStoredKeys } from "../build/build-snapshot.ts";
import { unknownReferenceWarnings } from "../build/config-warnings.ts";
import { Composer, readSources, type Sources } from "../build/load-snapshot.ts";
import { type StoredKeyChange, StoredKeys } from "../build/stored-keys.ts";
import { ConfigEntities } from "../entities/config-entities.ts";
import { createStoredKeyReader } from "../sources/read-stored-keys.ts";
import { StoredConfigReader } from "../sources/stored-config.ts";
import type { InspectFolder } from "../validate/validate-references.ts";
import { aboutFile, describeProblems, type Problem } from "../yaml/problem.ts";
import { reloadYaml } from "../yaml/yaml-file.ts";
import { describeChanges, haveMoved } from "./describe-changes.ts";

interface ConfigurationOptions {
  /** The configuration file. */
  readonly path: string;
  /** The setting or option that names the file: it must exist. Undefined if the path is the default. */
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
  /** The default of each applies if absent. */
  readonly pollMs?: { readonly file?: number; readonly store?: number };
}

/** The file is invalid. */
export class InvalidConfig extends Error {
  constructor(problems: readonly Problem[]) {
    super(describeProblems(problems));
  }
}

export type Configuration = Awaited<ReturnType<typeof openConfiguration>>;

const pollStoresEveryMs = 500;

/** Throws InvalidConfig if the file is invalid. */
export async function openConfiguration(options: ConfigurationOptions) {
  const { path, env, keys, entities, secrets, inspectFolder, log, events, now } = options;
  const pollStoreMs = options.pollMs?.store ?? pollStoresEveryMs;
  const { namedBy } = options;
  const read = readSources({ path, namedBy, env, now: now(), inspectFolder });
  if (!read.ok) throw new InvalidConfig(read.problems);
  const { yaml, environment } = read;
  const provisioned = environment.upstreams;
  const fileOptions = { path, namedBy, env, provisioned, inspectFolder };
  const storedConfig = new StoredConfigReader(entities, secrets);
  const stored = await storedConfig.read();
  const readKeyChanges = createStoredKeyReader(keys);
  let storedKeys = StoredKeys.empty;
  await readKeyChanges(async (changes) => {
    storedKeys = storedKeys.withChanges(changes);
  });

  const composer = new Composer(inspectFolder);
  let current = runAtOnce(
    composer.compose({ yaml, stored, environment, storedKeys }, { version: 1, now: now() }),
  );
  const logWarnings = (texts: readonly string[]): void => {
    for (const warning of texts) log.warn("config-warning", { warning });
  };
  logWarnings(current.warnings);
  const listeners: (() => void)[] = [];
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  /**
   * One snapshot after the other: each begins with the sources of the one before. Never waits for a file or a store.
   */
  const serialize = createSerialize();
  /** `isFile`: all warnings are logged, for the operator who corrects it. `isRecovered`: the source was invalid. */
  const publish = (
    changed: Partial<Pick<Sources, "yaml" | "stored">>,
    { isFile, isRecovered }: { isFile: boolean; isRecovered: boolean },
  ): Promise<void> =>
    serialize(async () => {
      const before = current;
      const sources = { ...before.sources, ...changed, storedKeys: before.storedKeys };
      const version = before.snapshot.version + 1;
      const next = await runInSteps(composer.compose(sources, { version, now: now() }));
      const changes = await runInSteps(describeChanges(before.snapshot, next.snapshot));
      const known = new Set(before.warnings);
      const newWarnings = next.warnings.filter((warning) => !known.has(warning));
      const isUnchanged = changes === "" && !haveMoved(before.sources.yaml, next.sources.yaml);
      current = isUnchanged ? { ...next, snapshot: before.snapshot } : next;
      if (!isUnchanged) notify();
      if (changes === "" && newWarnings.length === 0 && !isRecovered) return;
      const shownChanges = changes || "nothing changed";
      log.info("config-reloaded", { changes: shownChanges });
      logWarnings(isFile ? next.warnings : newWarnings);
      events()?.emit({ type: "config.reloaded", data: { changes: shownChanges } });
    });

  let fileProblem: string | undefined;
  const rejectFile = (problems: readonly Problem[]): void => {
    const descriptions = problems.map((problem) => describeProblems([problem]));
    fileProblem = descriptions[0];
    for (const reason of descriptions) log.error("config-rejected", { reason });
    events()?.emit({ type: "config.rejected", data: { problems: descriptions } });
  };
  const file = pollFiles({
    paths: [path],
    pollMs: options.pollMs?.file,
    onChange: async () => {
      try {
        const read = await reloadYaml(fileOptions, current.sources.yaml);
        if (read?.ok === false) return rejectFile(read.problems);
        const isRecovered = fileProblem !== undefined;
        if (!read && !isRecovered) return;
        await publish(read ? { yaml: read } : {}, { isFile: true, isRecovered });
        fileProblem = undefined;
      } catch (error) {
        // A bug of the gateway must not stop a running gateway.
        rejectFile([aboutFile(path, `could not be applied: ${error}`)]);
      }
    },
  });

  /** Polls a store. What was read before stays in force while it is unreadable, which is logged once. */
  const pollStore = (
    logUnreadable: (reason: string) => void,
    read: (isRecovered: boolean) => Promise<void>,
  ) => {
    let isReadable = true;
    const onFailure = (error: unknown): void => logUnreadable(String(error));
    return repeat({ everyMs: pollStoreMs, onFailure }, async () => {
      const isRecovered = !isReadable;
      isReadable = false;
      await read(isRecovered);
      isReadable = true;
    });
  };
  const [serializeEntities, serializeKeys] = [createSerialize(), createSerialize()];
  const applyEntityChanges = (isRecovered = false): Promise<void> =>
    serializeEntities(async () => {
      const read = await storedConfig.read();
      if (read === current.sources.stored && !isRecovered) return;
      await publish({ stored: read }, { isFile: false, isRecovered });
    });
  const stopEntities = pollStore(
    (reason) => log.error("config-store-unreadable", { reason }),
    async (isRecovered) => {
      if (await storedConfig.hasChanged(current.sources.stored))
        await applyEntityChanges(isRecovered);
    },
  );

  const applyKeyChanges = (): Promise<void> =>
    serializeKeys(async () => {
      let changes: readonly StoredKeyChange[] = [];
      await readKeyChanges(async (read) => {
        await serialize(async () => {
          const changedKeys = current.storedKeys.withChanges(read);
          const snapshot = withStoredKeys(current.snapshot, changedKeys);
          current = { ...current, snapshot, storedKeys: changedKeys };
          notify();
        });
        changes = read;
      });
      if (changes.length === 0) return;
      const { snapshot } = current;
      log.info("keys-changed", { keys: snapshot.keys.size, changed: changes.length });
      const added = changes.filter(({ isRevoked }) => !isRevoked).map(({ key }) => key);
      logWarnings(unknownReferenceWarnings(added, snapshot));
      await events()?.onKeysChanged(keys);
    });
  const stopKeys = pollStore((reason) => log.error("keys-unreadable", { reason }), applyKeyChanges);

  return {
    snapshot: () => current.snapshot,
    /** Calls the listener after each replacement of the config snapshot. */
    onReload: (listener: () => void): void => void listeners.push(listener),
    /** Why the file was not applied. Undefined if the file is in force. */
    fileProblem: () => fileProblem,
    /** Applies changes of stored keys now, instead of at the next poll. */
    applyKeyChanges,
    /** Reads and changes the entities of the store. */
    entities: new ConfigEntities({
      store: entities,
      secrets,
      composer,
      // With the last valid file, which is in force.
      current: async () => {
        if (await storedConfig.hasChanged(current.sources.stored)) await applyEntityChanges();
        return current;
      },
      now,
    }),
    /** Publishes changes of stored entities now, instead of at the next poll. */
    applyEntityChanges: () => applyEntityChanges(),
    close: () => {
      file.close();
      void stopEntities();
      void stopKeys();
    },
  };
}
