/**
 * The stored API keys of a config snapshot, with their limits. Immutable: a change of a few keys makes a new version
 * that shares the others, so that 100,000 keys are not rebuilt for one.
 */
import { isDeepStrictEqual } from "node:util";
import type { Limits } from "../../contract/limits-and-budgets.ts";
import { deepFreeze } from "../lib/deep-freeze.ts";
import { PersistentMap } from "../lib/persistent-map.ts";
import { keyBudgets } from "./key-budgets.ts";
import { keyLimits, keyScope } from "./limit-scopes.ts";
import type { Key, Project } from "./snapshot.ts";

export interface StoredKeyChange {
  readonly key: Key;
  /** The key was revoked. */
  readonly isRevoked: boolean;
}

type Projects = ReadonlyMap<string, Project>;

export class StoredKeys {
  readonly byHash: PersistentMap<Key>;
  /** The limits of the keys that have any, by scope. */
  readonly limits: PersistentMap<Limits>;
  /** The projects whose limits and budgets are part of the keys. */
  readonly #projects: Projects;

  static readonly empty = new StoredKeys(PersistentMap.empty(), PersistentMap.empty(), new Map());

  private constructor(
    byHash: PersistentMap<Key>,
    limits: PersistentMap<Limits>,
    projects: Projects,
  ) {
    this.byHash = byHash;
    this.limits = limits;
    this.#projects = projects;
    Object.freeze(this);
  }

  withChanges(changes: readonly StoredKeyChange[]): StoredKeys {
    const active = ({ key, isRevoked }: StoredKeyChange): readonly [string, Key | undefined] => [
      key.hash,
      isRevoked ? undefined : resolveKey(key, this.#projects),
    ];
    // Removing the limits of a key that has none would copy a hash bucket of the persistent map for nothing.
    const limited = changes.filter(
      ({ key: { id, limits } }) => limits !== undefined || this.limits.has(keyScope(id)),
    );
    const byHash = this.byHash.with(changes.map(active));
    const limits = this.limits.with(
      limited.map(({ key, isRevoked }) => [keyScope(key.id), isRevoked ? undefined : key.limits]),
    );
    return byHash === this.byHash ? this : new StoredKeys(byHash, limits, this.#projects);
  }

  /** Rebuilds only the keys whose project was added, removed or changed. */
  withProjects(projects: Projects): StoredKeys {
    const before = this.#projects;
    const changed = new Set(
      [...new Set([...before.keys(), ...projects.keys()])].filter(
        (name) => !isDeepStrictEqual(before.get(name), projects.get(name)),
      ),
    );
    if (changed.size === 0) return this;
    const affected: (readonly [string, Key])[] = [];
    for (const key of this.byHash.values()) {
      if (key.project === undefined || !changed.has(key.project)) continue;
      const { scopes, budgets, ...own } = key;
      affected.push([key.hash, resolveKey(own, projects)]);
    }
    return new StoredKeys(this.byHash.with(affected), this.limits, projects);
  }
}

/**
 * The key with the limit scopes and the budgets that its requests count against, its project's included. A list of
 * models that may still change is copied; a frozen one is shared.
 */
export const resolveKey = (key: Key, projects: Projects): Key =>
  deepFreeze({
    ...key,
    models: Object.isFrozen(key.models) ? key.models : [...key.models],
    ...keyLimits(key, projects),
    ...keyBudgets(key, projects),
  });
