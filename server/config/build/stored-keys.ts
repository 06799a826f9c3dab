/** The stored API keys of a config snapshot. Immutable: a change makes a copy, and requests in flight keep theirs. */
import { isDeepStrictEqual } from "node:util";
import type { Limits } from "../../../contract/limits-and-budgets.ts";
import { BucketMap } from "../../lib/bucket-map.ts";
import { deepFreeze } from "../../lib/deep-freeze.ts";
import type { Key, Project } from "../snapshot.ts";
import { keyBudgets, keyLimits, keyScope } from "./limits-and-budgets.ts";

export interface StoredKeyChange {
  readonly key: Key;
  /** The key was revoked. */
  readonly isRevoked: boolean;
}

type Projects = ReadonlyMap<string, Project>;

const keysOfStep = 500;

export class StoredKeys {
  readonly byHash: BucketMap<Key>;
  /** A key and the keys that replaced it share a scope. In the order of their latest changes. */
  readonly #byScope: BucketMap<readonly Key[]>;
  /** The projects whose limits and budgets are part of the keys. */
  readonly #projects: Projects;

  /** How many keys have limits. */
  readonly limited: number;

  static readonly empty = new StoredKeys(BucketMap.empty, BucketMap.empty, new Map(), 0);

  private constructor(
    byHash: BucketMap<Key>,
    byScope: BucketMap<readonly Key[]>,
    projects: Projects,
    limited: number,
  ) {
    this.byHash = byHash;
    this.#byScope = byScope;
    this.#projects = projects;
    this.limited = limited;
  }

  findById(id: string): Key | undefined {
    return this.#byScope.get(keyScope(id))?.find((key) => key.id === id);
  }

  /** The limits of a key and of the keys that replaced it are those of the key that was changed last. */
  limitsOf(scope: string): Limits | undefined {
    return this.#byScope.get(scope)?.findLast(({ limits }) => limits)?.limits;
  }

  withChanges(changes: readonly StoredKeyChange[]): StoredKeys {
    const byHash = new Map<string, Key | undefined>();
    const byScope = new Map<string, readonly Key[]>();
    let { limited } = this;
    for (const { key, isRevoked } of changes) {
      const before = byHash.has(key.hash) ? byHash.get(key.hash) : this.byHash.get(key.hash);
      if (before?.limits) limited--;
      if (!isRevoked && key.limits) limited++;
      const changed = isRevoked ? undefined : resolveKey(key, this.#projects);
      byHash.set(key.hash, changed);
      const scope = keyScope(key.id);
      const others = (byScope.get(scope) ?? this.#byScope.get(scope) ?? []).filter(
        ({ hash }) => hash !== key.hash,
      );
      byScope.set(scope, changed ? [...others, changed] : others);
    }
    return new StoredKeys(
      this.byHash.with(byHash),
      this.#byScope.with(withoutEmpty(byScope)),
      this.#projects,
      limited,
    );
  }

  /** Resolves only the keys again whose project was added, removed or changed. In steps. */
  *withProjects(projects: Projects = new Map()): Generator<void, StoredKeys> {
    const before = this.#projects;
    const changed = new Set(
      [...new Set([...before.keys(), ...projects.keys()])].filter(
        (name) =>
          before.get(name) !== projects.get(name) &&
          !isDeepStrictEqual(before.get(name), projects.get(name)),
      ),
    );
    if (changed.size === 0)
      return new StoredKeys(this.byHash, this.#byScope, projects, this.limited);
    const byHash = new Map<string, Key>();
    const byScope = new Map<string, readonly Key[]>();
    let seen = 0;
    for (const key of this.byHash.values()) {
      if (++seen % (4 * keysOfStep) === 0) yield;
      if (key.project === undefined || !changed.has(key.project)) continue;
      if (byHash.size % keysOfStep === keysOfStep - 1) yield;
      const { scopes, budgets, archived, ...own } = key;
      const resolved = resolveKey(own, projects);
      byHash.set(key.hash, resolved);
      const scope = keyScope(key.id);
      const same = byScope.get(scope) ?? this.#byScope.get(scope) ?? [];
      byScope.set(
        scope,
        same.map((each) => (each.hash === key.hash ? resolved : each)),
      );
    }
    yield;
    return new StoredKeys(
      this.byHash.with(byHash),
      this.#byScope.with(byScope),
      projects,
      this.limited,
    );
  }
}

function* withoutEmpty(
  entries: ReadonlyMap<string, readonly Key[]>,
): Generator<readonly [string, readonly Key[] | undefined]> {
  for (const [scope, keys] of entries) yield [scope, keys.length > 0 ? keys : undefined];
}

/**
 * The key with the limit scopes and the budgets that its requests count against, its project's included. A list of
 * models that may still change is copied; a frozen one is shared.
 */
export const resolveKey = (key: Key, projects: Projects): Key =>
  deepFreeze({
    ...key,
    models: Object.isFrozen(key.models) ? key.models : [...key.models],
    ...(key.project !== undefined &&
      projects.get(key.project)?.archived && { archived: true as const }),
    ...keyLimits(key, projects),
    ...keyBudgets(key, projects),
  });
