/** The stored API keys of a config snapshot. Immutable: a change makes a copy, and requests in flight keep theirs. */
import { isDeepStrictEqual } from "node:util";
import type { Limits } from "../../../contract/limits-and-budgets.ts";
import { deepFreeze } from "../../lib/deep-freeze.ts";
import type { Key, Project } from "../snapshot.ts";
import { keyBudgets, keyLimits, keyScope } from "./limits-and-budgets.ts";

export interface StoredKeyChange {
  readonly key: Key;
  /** The key was revoked. */
  readonly isRevoked: boolean;
}

type Projects = ReadonlyMap<string, Project>;

export class StoredKeys {
  readonly byHash: ReadonlyMap<string, Key>;
  /** The limits of the keys that have any, by scope. */
  readonly limits: ReadonlyMap<string, Limits>;
  /** The projects whose limits and budgets are part of the keys. */
  readonly #projects: Projects;

  static readonly empty = new StoredKeys(new Map(), new Map(), new Map());

  private constructor(
    byHash: ReadonlyMap<string, Key>,
    limits: ReadonlyMap<string, Limits>,
    projects: Projects,
  ) {
    this.byHash = byHash;
    this.limits = limits;
    this.#projects = projects;
  }

  withChanges(changes: readonly StoredKeyChange[]): StoredKeys {
    const byHash = new Map(this.byHash);
    const limits = new Map(this.limits);
    for (const { key, isRevoked } of changes) {
      byHash.delete(key.hash);
      limits.delete(keyScope(key.id));
      if (!isRevoked) byHash.set(key.hash, resolveKey(key, this.#projects));
    }
    // A key and the key that replaced it have one scope. Its limits are those of the key that was changed last.
    const changed = new Set(changes.map(({ key }) => keyScope(key.id)));
    for (const { id, limits: own } of byHash.values()) {
      if (own && changed.has(keyScope(id))) limits.set(keyScope(id), own);
    }
    return new StoredKeys(byHash, limits, this.#projects);
  }

  /** Rebuilds only the keys whose project was added, removed or changed. */
  withProjects(projects: Projects = new Map()): StoredKeys {
    const before = this.#projects;
    const changed = new Set(
      [...new Set([...before.keys(), ...projects.keys()])].filter(
        (name) => !isDeepStrictEqual(before.get(name), projects.get(name)),
      ),
    );
    if (changed.size === 0) return this;
    const byHash = new Map(this.byHash);
    for (const [hash, key] of this.byHash) {
      if (key.project === undefined || !changed.has(key.project)) continue;
      const { scopes, budgets, ...own } = key;
      byHash.set(hash, resolveKey(own, projects));
    }
    return new StoredKeys(byHash, this.limits, projects);
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
