/** Builds one frozen config snapshot of the entities of a configuration and of the API keys. */
import type { Limits } from "../../../contract/limits-and-budgets.ts";
import { deepFreeze } from "../../lib/deep-freeze.ts";
import { memoize } from "../../lib/memoize.ts";
import { secretHash } from "../../lib/secret-hash.ts";
import type { Key, KeyTable, LimitTable, Project, Snapshot } from "../snapshot.ts";
import type { Config } from "../validate/schema.ts";
import type { YamlConfig } from "../yaml/read-config.ts";
import { budgetOf, configuredLimits, limitsOfEntities } from "./limits-and-budgets.ts";
import type { ResolvedEntities } from "./resolve-entities.ts";
import { resolveKey, type StoredKeys } from "./stored-keys.ts";

const keysOfStep = 200;

type KeyRow = Config["keys"][number];
type Projects = ReadonlyMap<string, Project>;

/** The API keys of the file. As long as a key and its project stay the same objects, so does the result. */
export class FileKeys {
  readonly #keyOf = memoize(keyOf);
  readonly #resolved = new WeakMap<Key, { readonly project: Project | undefined; key: Key }>();

  /** By hash. */
  *resolve(rows: readonly KeyRow[], projects: Projects): Generator<void, Map<string, Key>> {
    const keys = new Map<string, Key>();
    let built = 0;
    for (const row of rows) {
      const own = this.#keyOf(row);
      const project = own.project === undefined ? undefined : projects.get(own.project);
      let resolved = this.#resolved.get(own);
      if (!resolved || resolved.project !== project) {
        resolved = { project, key: resolveKey(own, projects) };
        this.#resolved.set(own, resolved);
        if (++built % keysOfStep === 0) yield;
      }
      keys.set(own.hash, resolved.key);
    }
    return keys;
  }
}

const keyOf = ({ name, key, models, ...more }: KeyRow): Key => {
  const { project, limits, budget, expires, defaults, priority, showCost, parameters } = more;
  return {
    id: `file:${name}`,
    name,
    hash: secretHash(key),
    models,
    ...(expires !== undefined && { expiresAt: Date.parse(expires) }),
    ...(parameters && { parameters }),
    ...(defaults && { defaults }),
    ...(priority && { priority }),
    ...(showCost && { showCost }),
    ...(project !== undefined && { project }),
    ...configuredLimits(limits),
    ...budgetOf(budget),
    source: "yaml",
  };
};

interface SnapshotParts {
  readonly version: number;
  readonly yaml: YamlConfig;
  readonly entities: ResolvedEntities;
  readonly fileKeys: ReadonlyMap<string, Key>;
  readonly storedKeys: StoredKeys;
}

export function buildSnapshot(parts: SnapshotParts): Snapshot {
  const { version, yaml, entities, fileKeys, storedKeys } = parts;
  const { upstreams, models, projects, webhooks, alerts } = entities;
  const { defaults } = yaml.config;
  const limits = limitsOfEntities({ fileKeys, projects, models, upstreams });
  const embedsImages = models.values().some(({ readsImages }) => readsImages);
  return Object.freeze({
    version,
    upstreams,
    models,
    ...(embedsImages && { embedsImages }),
    keys: new Keys(fileKeys, storedKeys),
    fileKeys,
    ...(defaults && { defaults: deepFreeze(defaults) }),
    projects,
    limits: limitTable(limits, storedKeys),
    webhooks,
    alerts,
    entityLimits: limits,
    origins: originTable(yaml, entities),
  });
}

/**
 * The same snapshot with other stored keys, which are resolved with its projects. Does not read the file, which may be
 * invalid or deleted.
 */
export const withStoredKeys = (current: Snapshot, storedKeys: StoredKeys): Snapshot =>
  Object.freeze({
    ...current,
    version: current.version + 1,
    keys: new Keys(current.fileKeys ?? new Map(), storedKeys),
    limits: limitTable(current.entityLimits ?? new Map(), storedKeys),
  });

const byId = memoize(
  (fileKeys: ReadonlyMap<string, Key>): ReadonlyMap<string, Key> =>
    new Map(fileKeys.values().map((key) => [key.id, key])),
);

/** A key of the file takes precedence over a stored key. */
class Keys implements KeyTable {
  readonly size: number;
  readonly #fileKeys: ReadonlyMap<string, Key>;
  readonly #stored: StoredKeys;

  constructor(fileKeys: ReadonlyMap<string, Key>, stored: StoredKeys) {
    this.#fileKeys = fileKeys;
    this.#stored = stored;
    let inBoth = 0;
    for (const hash of fileKeys.keys()) if (stored.byHash.has(hash)) inBoth++;
    this.size = fileKeys.size + stored.byHash.size - inBoth;
  }

  get(hash: string): Key | undefined {
    return this.#fileKeys.get(hash) ?? this.#stored.byHash.get(hash);
  }

  has(hash: string): boolean {
    return this.#fileKeys.has(hash) || this.#stored.byHash.has(hash);
  }

  *values(): Generator<Key> {
    yield* this.#fileKeys.values();
    for (const key of this.#stored.byHash.values()) {
      if (!this.#fileKeys.has(key.hash)) yield key;
    }
  }

  findById(id: string): Key | undefined {
    return this.#stored.findById(id) ?? byId(this.#fileKeys).get(id);
  }
}

const limitTable = (entities: ReadonlyMap<string, Limits>, stored: StoredKeys): LimitTable => ({
  size: entities.size + stored.limited,
  get: (scope) => entities.get(scope) ?? stored.limitsOf(scope),
});

const originTable = (
  { file, entries }: YamlConfig,
  { provisioned }: ResolvedEntities,
): NonNullable<Snapshot["origins"]> => ({
  get: (key) => {
    const entry = entries.get(key);
    return entry
      ? { source: "yaml", location: `${file} line ${entry.line}` }
      : provisioned.get(key);
  },
});
