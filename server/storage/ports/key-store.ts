/**
 * Port: the API keys that are created at runtime. Only hashes are stored. Every change has a revision, a number that
 * grows with each change of any process, so that a reader with 100,000 keys reads only what changed.
 */
import type { Budget, Limits } from "../../../contract/limits-and-budgets.ts";
import type { PageRequest, StoredPage } from "./page.ts";

/** Optional settings of a key. */
export interface KeySettings {
  /** The models of requests without `model`, by kind. */
  readonly defaults?: { readonly embedding?: string; readonly image?: string };
  readonly project?: string;
  readonly limits?: Limits;
  readonly budget?: Budget;
  /** What happens to image parameters that a target does not support. */
  readonly parameters?: "adapt" | "strict" | "drop" | "pass";
  /** All of its requests are batch requests. */
  readonly priority?: "batch";
  /** Its responses have the header `vexel-cost`. */
  readonly showCost?: true;
  /** Unix milliseconds. */
  readonly expiresAt?: number;
  /** The name of the user who created it in the console. Absent: another way, such as the command line. */
  readonly createdBy?: string;
  /**
   * The limits and budgets that an administrator set, by field, such as `budget.day`: developers may not exceed them.
   * Absent: an administrator set all of them.
   */
  readonly locked?: Readonly<Record<string, number | "refuse">>;
}

/** What can be changed in a key. A setting that is absent is removed. */
export interface KeyUpdate extends KeySettings {
  readonly name: string;
  /** Globs over model ids. */
  readonly models: readonly string[];
}

export interface NewKey extends KeyUpdate {
  readonly id: string;
  /** SHA-256 of the key in hex. */
  readonly hash: string;
  /** The first characters, so that people can distinguish keys. */
  readonly hint: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

export interface StoredKey extends NewKey {
  readonly revokedAt: number | null;
  /** Grows with each change of the key: the revision of its latest change. */
  readonly version: number;
}

/** The end of a key that is rotated. Unix milliseconds. */
export type RotatedKeyEnd = { readonly revokeAt: number } | { readonly expireAt: number };

export interface KeyChange {
  /** The key as it is now. */
  readonly key: StoredKey;
  /** It was created after the revision that the reader has. */
  readonly isNew: boolean;
}

export interface KeyChanges {
  /** Each changed key once, in the order of the latest change. */
  readonly changes: readonly KeyChange[];
  /** The revision to continue from. */
  readonly revision: number;
  readonly hasMore: boolean;
}

export interface KeySearch extends PageRequest {
  /** Absent: keys of all projects, and keys without a project. */
  readonly projects?: readonly string[] | undefined;
  /** A part of the name or of the hint, or the id. Upper and lower case are the same. Absent: all keys. */
  readonly text?: string | undefined;
}

/** Every method rejects once the store is closed. */
export interface KeyStore {
  /** Rejects if the id or the hash exists. */
  create(key: NewKey): Promise<StoredKey>;
  /** Active keys with this id or this name. */
  findActive(idOrName: string): Promise<readonly StoredKey[]>;
  /** Keys with this name, revoked ones included, in the order of their creation. */
  findByName(name: string): Promise<readonly StoredKey[]>;
  /** The key with this id, revoked ones included. */
  findById(id: string): Promise<StoredKey | undefined>;
  /** False: there is no active key with this id. `at`: Unix milliseconds. */
  revoke(id: string, at: number): Promise<boolean>;
  /**
   * Replaces name, models and settings. Undefined: there is no active key with this id. `expected`: the version that
   * the change is based on; rejects with VersionConflict if the key has another one.
   */
  update(id: string, update: KeyUpdate, expected?: number): Promise<StoredKey | undefined>;
  /**
   * Creates the successor and ends the key, both or neither. Undefined: there is no active key with this id. Rejects
   * with VersionConflict: of two concurrent rotations, one creates a successor.
   */
  rotate(
    id: string,
    successor: NewKey,
    end: RotatedKeyEnd,
    expected: number,
  ): Promise<StoredKey | undefined>;
  /**
   * Ends the key at `at`, unless it ends earlier. False: there is no active key with this id. `at`: Unix milliseconds.
   */
  expire(id: string, at: number): Promise<boolean>;
  /** All keys, revoked ones included, in the order of their creation. */
  list(page: PageRequest): Promise<StoredPage<StoredKey>>;
  /** The keys that match, revoked ones included, newest first. */
  search(query: KeySearch): Promise<StoredPage<StoredKey>>;
  /** The revision of the latest change. 0: there was none. */
  revision(): Promise<number>;
  /** The keys that changed after `revision`, at most `limit` of them. */
  changesSince(revision: number, limit: number): Promise<KeyChanges>;
  close(): Promise<void>;
}
