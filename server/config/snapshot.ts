/** The config snapshot: immutable, built and swapped atomically. A request keeps the snapshot that it began with. */

import type { batchExecutions, policyNames } from "../../contract/admin/constants.ts";
import type { AlertMetric, webhookFormats } from "../../contract/admin.ts";
import type {
  Budget,
  BudgetedOwner,
  EndUserOrTagLimits,
  Limits,
} from "../../contract/limits-and-budgets.ts";
import type { ModelKind } from "../../contract/model-kinds.ts";
import type { KnownEmbedding } from "../upstream/catalog/index.ts";
import type { Target, Upstream } from "../upstream/contract.ts";

/** Where an entry comes from: vexel.yaml, the environment, the store, or the built-in models. */
export type Source = "yaml" | "environment" | "store" | "built-in";

/** Where one entity comes from. Only stored entities can be edited at runtime. */
export interface EntityOrigin {
  readonly source: Source;
  /** Such as `vexel.yaml line 12` or `OPENAI_API_KEY`. Absent for stored entities and built-in models. */
  readonly location?: string;
}

/**
 * How image parameters that a target does not support are handled. `adapt`: the gateway emulates them if it can, and
 * rejects the others. `drop`: as `adapt`, but the others are dropped. `strict`: all of them are rejected. `pass`: the
 * request is passed through to targets with an OpenAI-compatible API.
 */
export type ParameterPolicy = "adapt" | "strict" | "drop" | "pass";

/** How one of several available targets is selected. */
export type PolicyName = (typeof policyNames)[number];

export interface Model {
  /** The id that clients send as `model`. */
  readonly id: string;
  readonly kind: ModelKind;
  /** In the order of the file. The first is the reference for drift detection. Each has its tier. */
  readonly targets: readonly Target[];
  /** The default is `p2c`. */
  readonly policy?: PolicyName;
  readonly source: Source;
  readonly ownedBy: string;
  readonly description?: string;
  /** The day from which no target serves it, such as `2026-12-01`. If absent, no shutdown date is known. */
  readonly shutdownDate?: string;
  /** Timeout of a whole request. If absent, the setting applies. */
  readonly timeoutMs?: number;
  /** How long prompts, inputs, vectors and images of its requests are stored. If absent, they are not stored. */
  readonly storeContentMs?: number;
  /** Embedding models: where the lines of its batches run. If absent, now. */
  readonly batches?: (typeof batchExecutions)[number];
  /** Responses have the header `vexel-cost`. */
  readonly showCost?: true;
  readonly limits?: Limits;
  /** The limit scopes that its requests count against. */
  readonly scopes?: readonly string[];
  /** Embedding models: the length of the vectors if a request has no `dimensions`. */
  readonly dimensions?: number;
  /** Embedding models, always present: vectors of the same space are comparable. */
  readonly space?: string;
  /** Embedding models whose targets are all the same known model. */
  readonly known?: KnownEmbedding;
  /** Embedding models: the embedding cache is disabled. */
  readonly uncached?: true;
  /** Embedding models: the vector of an input depends on the other inputs of its request. */
  readonly contextual?: true;
  /** Embedding models: micro-batching is disabled. */
  readonly unbatched?: true;
  /**
   * Embedding models: token arrays are refused, or passed unchanged to targets that support them. If absent, decoded.
   */
  readonly tokenArrays?: "refuse" | "pass";
  /** Embedding models: a target reads images, or is assumed to. If absent, none does. */
  readonly readsImages?: true | "assumed";
  /** Image models: the most images in one request. */
  readonly maxImages: number;
  /** Image models: how options that a target does not support are handled. The default is `adapt`. */
  readonly parameters?: ParameterPolicy;
  /** Image models: whether a request continues after its client disconnects. If absent, the setting applies. */
  readonly onDisconnect?: "finish" | "cancel";
  /** Image models: retries on another target even if the failed one may have billed the image. */
  readonly retryPaid?: true;
  /** Image models: the moderation that checks prompts first. */
  readonly moderation?: Moderation;
}

/** The check of prompts by a moderation upstream. */
export interface Moderation {
  readonly target: Target;
  readonly onFailure: "refuse" | "allow";
  /** How long the upstream may take, unless half of the timeout of the image model is shorter. */
  readonly timeoutMs: number;
}

/** The models of requests without `model`, by kind. */
export interface Defaults {
  readonly embedding?: string | undefined;
  readonly image?: string | undefined;
}

export interface Key {
  /** When the key stops working, in Unix milliseconds. If absent, never. */
  readonly expiresAt?: number;
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the key in hex; the key itself is not stored. */
  readonly hash: string;
  /** Globs over model ids. */
  readonly models: readonly string[];
  /** Default models. They override those of the snapshot. */
  readonly defaults?: Defaults;
  /** How unsupported options of its image requests are handled. If absent, the model's setting applies. */
  readonly parameters?: ParameterPolicy;
  /** The priority of its requests, whatever their header says. If absent, the header decides. */
  readonly priority?: "batch";
  /** Its responses have the header `vexel-cost`, whatever the model says. */
  readonly showCost?: true;
  /** Keys of one project share its limits. */
  readonly project?: string;
  /** The project is archived, so its requests are refused. */
  readonly archived?: true;
  readonly limits?: Limits;
  /** The limit scopes that its requests count against: its own and its project's. */
  readonly scopes?: readonly string[];
  readonly budget?: Budget;
  /** The budgets that its requests are charged to: its own and its project's. */
  readonly budgets?: readonly BudgetedOwner[];
  readonly source: Source;
}

export interface Project {
  readonly name: string;
  readonly limits?: Limits;
  readonly budget?: Budget;
  /** Of each of its end users. */
  readonly perEndUser?: EndUserOrTagLimits;
  /** Of each of its tags, by tag or pattern. */
  readonly perTag?: ReadonlyMap<string, EndUserOrTagLimits>;
  /** An e-mail address. */
  readonly contact?: string;
  /** Its API keys are refused. */
  readonly archived?: true;
}

type WebhookFormat = (typeof webhookFormats)[number];

/** Fires while a measured value is above a bound. */
export interface AlertRule {
  readonly name: string;
  readonly metric: AlertMetric;
  /** Percent of requests, milliseconds, US dollars, or a number of targets. */
  readonly above: number;
  /** The window over which requests are counted. */
  readonly minutes: number;
  /** With fewer requests in the window, error rate and latency are not judged. */
  readonly minRequests: number;
  readonly model?: string | undefined;
  readonly project?: string | undefined;
  readonly upstream?: string | undefined;
  /** The names of webhooks. The default is those that subscribe to alerts. */
  readonly receivers?: readonly string[] | undefined;
}

/** A receiver of events. */
export interface Webhook {
  /** Derived from the URL, so that it is stable across reloads. */
  readonly id: string;
  /** By which alert rules name it. Absent if the file has none for it. */
  readonly name?: string | undefined;
  readonly url: string;
  /** `whsec_` and the key in base64. If absent, requests are not signed, because the format is not `standard`. */
  readonly secret?: string | undefined;
  /** The default is `standard`. */
  readonly format?: WebhookFormat;
  /** Globs over event types. */
  readonly events: readonly string[];
  /** The client's project or API key (`auth/owner.ts`). If absent, the operator has configured it. */
  readonly owner?: string;
  /** Signs as well, after a rotation of the secret. */
  readonly previousSecret?: string;
}

/** The API keys by hash: those of the file, then the stored ones. */
export interface KeyTable {
  readonly size: number;
  get(hash: string): Key | undefined;
  has(hash: string): boolean;
  values(): IteratorObject<Key>;
  findById(id: string): Key | undefined;
}

export interface LimitTable {
  readonly size: number;
  get(scope: string): Limits | undefined;
}

export interface Snapshot {
  readonly version: number;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly models: ReadonlyMap<string, Model>;
  /** A model embeds images. If absent, none does. */
  readonly embedsImages?: boolean;
  readonly keys: KeyTable;
  /** The keys of the file, by hash. */
  readonly fileKeys?: ReadonlyMap<string, Key>;
  readonly defaults?: Defaults;
  /** By name. */
  readonly projects?: ReadonlyMap<string, Project>;
  /** All limits, by scope. */
  readonly limits?: LimitTable;
  /** By id. */
  readonly webhooks?: ReadonlyMap<string, Webhook>;
  /** By name. */
  readonly alerts?: ReadonlyMap<string, AlertRule>;
  /** The limits of everything but stored keys, by scope. */
  readonly entityLimits?: ReadonlyMap<string, Limits>;
  /** The origins of what is not stored, by kind and id (`originOf`). */
  readonly origins?: { get(key: string): EntityOrigin | undefined };
}

/** The kinds of entities that have an origin. */
export type OriginKind = "upstream" | "model" | "project" | "webhook" | "alert" | "key";

export const isReadOnly = ({ source }: EntityOrigin): boolean => source !== "store";

/** Such as `yaml: vexel.yaml line 12`, `environment: OPENAI_API_KEY`, `store` or `built-in`. */
export function describeOrigin({ source, location }: EntityOrigin): string {
  return location === undefined ? source : `${source}: ${location}`;
}

export const originKey = (kind: OriginKind, id: string): string => `${kind} ${id}`;

const tables = {
  upstream: "upstreams",
  model: "models",
  project: "projects",
  webhook: "webhooks",
  alert: "alerts",
} as const;

/** Undefined if there is no such entity. Not for stored keys. */
export function originOf(
  snapshot: Omit<Snapshot, "version" | "keys">,
  kind: OriginKind,
  id: string,
): EntityOrigin | undefined {
  const origin = snapshot.origins?.get(originKey(kind, id));
  if (origin || kind === "key") return origin;
  return snapshot[tables[kind]]?.has(id) ? { source: "store" } : undefined;
}
