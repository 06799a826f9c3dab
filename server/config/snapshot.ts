/** The config snapshot: immutable, built and swapped atomically. A request keeps the snapshot that it began with. */

import type { Budget, BudgetedOwner } from "../lib/budget.ts";
import type { Limits } from "../lib/limits.ts";
import type { KnownEmbedding } from "../upstream/catalog/index.ts";
import type { Target, Upstream } from "../upstream/contract.ts";

/** Who put a thing there: the file, the environment, the store, or the product itself. */
export type Source = "file" | "environment" | "store" | "embedded";

/** Do it in the target's place, refuse it, leave it out, or let the target decide. */
export type Parameters = "adapt" | "strict" | "drop" | "pass";

/** How one of several targets that could serve is picked. */
export type PolicyName = "p2c" | "weighted" | "cost" | "sticky";

export interface Model {
  /** What callers send. */
  readonly id: string;
  readonly kind: "embedding" | "image";
  /** As listed; the first is what others are measured by. Each says in which tier it is. */
  readonly targets: readonly Target[];
  /** Absent: `p2c`. */
  readonly policy?: PolicyName;
  readonly source: Source;
  readonly ownedBy: string;
  readonly description?: string;
  /** The day from which no target serves it, such as `2026-12-01`. Absent: no end is known. */
  readonly endsOn?: string;
  /** Milliseconds a call may take in all. Absent: as the setting says. */
  readonly timeoutMs?: number;
  readonly limits?: Limits;
  /** By which names its calls are counted. Absent: by none. */
  readonly scopes?: readonly string[];
  /** Of an embedding model: the length of its vectors when the caller names none. */
  readonly dimensions?: number;
  /** Of an embedding model, and always there: vectors can be compared where this is the same. */
  readonly space?: string;
  /** Of an embedding model whose targets are all the same known weights. */
  readonly known?: KnownEmbedding;
  /** Of an embedding model: every input is asked of an upstream, known or not. */
  readonly uncached?: true;
  /** Of an embedding model: the vector of an input depends on the other inputs of its request. */
  readonly contextual?: true;
  /** Of an embedding model: every call travels by itself. */
  readonly unbatched?: true;
  /** Of an embedding model: whether token arrays are refused, or sent unread to targets that take them. Absent: decoded. */
  readonly tokenArrays?: "refuse" | "pass";
  /** Of an image model: the most pictures one call may ask for. */
  readonly maxImages: number;
  /** Of an image model: what becomes of options that a target lacks. Absent: `adapt`. */
  readonly parameters?: Parameters;
  /** Of an image model: whether a call goes on when its caller leaves. Absent: as the setting says. */
  readonly onDisconnect?: "finish" | "cancel";
  /** Of an image model: what may have been paid for is ordered again elsewhere all the same. */
  readonly retryPaid?: true;
  /** Of an image model: who looks at prompts first. */
  readonly moderation?: {
    readonly target: Target;
    readonly onFailure: "refuse" | "allow";
  };
}

/** The models of requests that name none, by kind. */
export interface Defaults {
  readonly embedding?: string | undefined;
  readonly image?: string | undefined;
}

export interface Key {
  /** Unix milliseconds from which on it opens nothing. Absent: it lasts. */
  readonly expiresAt?: number;
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the key in hex; the key itself is nowhere. */
  readonly hash: string;
  /** Globs over model ids. */
  readonly models: readonly string[];
  /** Before those of the snapshot. */
  readonly defaults?: Defaults;
  /** What becomes of options of its image calls that a target lacks. Absent: as the model says. */
  readonly parameters?: Parameters;
  /** Keys of one project share its limits. */
  readonly project?: string;
  readonly limits?: Limits;
  /** By which names its calls are counted: its own, its project's. Absent: by none. */
  readonly scopes?: readonly string[];
  readonly budget?: Budget;
  /** Which budgets its calls are charged to: its own, its project's. Absent: none. */
  readonly budgets?: readonly BudgetedOwner[];
  readonly source: Source;
}

export interface Project {
  readonly name: string;
  readonly limits?: Limits;
  readonly budget?: Budget;
}

/** Where events are sent. */
export interface Webhook {
  /** Made from the address, so that it is the same after a reload. */
  readonly id: string;
  readonly url: string;
  /** `whsec_` and the key in base64. */
  readonly secret: string;
  /** Globs over types of events. */
  readonly events: readonly string[];
}

export interface Snapshot {
  readonly version: number;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly models: ReadonlyMap<string, Model>;
  /** By hash. */
  readonly keys: ReadonlyMap<string, Key>;
  readonly defaults?: Defaults;
  /** By name. */
  readonly projects?: ReadonlyMap<string, Project>;
  /** Of everything that has limits, by the name of its count. */
  readonly limits?: ReadonlyMap<string, Limits>;
  /** By id. Absent: none. */
  readonly webhooks?: ReadonlyMap<string, Webhook>;
}
