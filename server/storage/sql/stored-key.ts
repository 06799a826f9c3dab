/** API keys as they are stored, and changes of them. */
import type { Budget, Limits } from "../../../contract/limits-and-budgets.ts";
import type { PageRequest } from "./page.ts";

/** What an imported key may do in the gateway that it was imported from. A later sync compares it. */
export interface ImportedFrom {
  /** The kind of the other gateway, such as `litellm`. */
  readonly source: string;
  /** Distinguishes the installations of one kind: that of the first import of its keys. */
  readonly installation: string;
  /** Protections whose loss the user accepted. */
  readonly accepted?: readonly string[];
  readonly models: readonly string[];
  readonly limits?: Limits;
  /** Before what was spent there. */
  readonly budget?: ImportedBudget;
  /** Unix milliseconds. */
  readonly expiresAt?: number;
  /** What its project has there. */
  readonly project?: { readonly limits?: Limits; readonly budget?: ImportedBudget };
}

export type ImportedBudget = Omit<Budget, "unknownPrice">;

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
  /** If absent, it was not imported, or it is the successor of an imported key. */
  readonly imported?: ImportedFrom;
  /** The name of the user who created it in the console. If absent, another way, such as the command line. */
  readonly createdBy?: string;
  /** The id of this user. If absent, the admin token or another way. */
  readonly createdById?: string;
  /**
   * The limits and budgets that an administrator set, by field, such as `budget.day`: developers may not exceed them.
   * If absent, an administrator set all of them.
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
  /** If absent, keys of all projects, and keys without a project. */
  readonly projects?: readonly string[] | undefined;
  /** The id of a user: only the keys that this user created. */
  readonly createdBy?: string | undefined;
  /** A part of the name or of the hint, or the id. Upper and lower case are the same. The default is all keys. */
  readonly text?: string | undefined;
}
