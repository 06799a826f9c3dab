/** Entities that the API changes: upstreams, models, projects, webhooks. */
import type { ShownWebhook } from "./events.ts";

/** Where an entity is defined. Only entities of the store can be changed through the API. */
export interface Origin {
  readonly source: "yaml" | "environment" | "store" | "built-in";
  /** Such as `vexel.yaml line 12` or `OPENAI_API_KEY`. */
  readonly location: string | null;
}

export interface Entity<Value> {
  readonly object: "upstream" | "model" | "project" | "webhook";
  readonly id: string;
  readonly origin: Origin;
  readonly read_only: boolean;
  /** For `if-match` of a change: a change that is based on an older version is refused. `null`: not in the store. */
  readonly version: number | null;
  readonly created_at: string | null;
  readonly updated_at: string | null;
  /** Why an entity of the store is not in force. `null`: the entity is in force. */
  readonly problem: string | null;
  /** The entry of vexel.yaml without its id. */
  readonly value: Value;
}

/** The server sends it in place of a secret. In a change, the console sends it to keep the stored secret. */
export interface SecretValue {
  readonly $secret: true;
  /** The last four characters. Absent: the secret is short, or is not one word of visible ASCII. */
  readonly lastFour?: string;
}

/** The console sends a new secret as text. The server never sends a secret as text. */
export type Secret = string | SecretValue;

export interface LimitsValue {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly imagesPerMinute?: number;
  readonly megapixelsPerMinute?: number;
  readonly concurrent?: number;
}

export interface BudgetValue {
  readonly day?: number;
  readonly month?: number;
  readonly total?: number;
  readonly unknownPrice?: "allow" | "refuse";
}

/** The same members as an upstream in vexel.yaml. Secrets are write-only. */
export interface UpstreamValue {
  readonly kind: string;
  readonly baseUrl?: string;
  readonly apiKey?: Secret;
  readonly headers?: Readonly<Record<string, Secret>>;
  readonly limits?: LimitsValue;
  /** Options of the kind, such as `region` or `project`. */
  readonly [option: string]: unknown;
}

export type UpstreamEntity = Entity<UpstreamValue>;

/** Shown instead of the value of a secret setting. */
export const secretMask = "********";

export interface TargetValue {
  readonly upstream: string;
  readonly model: string;
  readonly weight?: number;
  readonly tier?: number;
  readonly limits?: LimitsValue;
  readonly [option: string]: unknown;
}

export const policyNames = ["p2c", "weighted", "cost", "sticky"] as const;

/** The same members as a model in vexel.yaml. */
export interface ModelValue {
  readonly kind: "embedding" | "image";
  readonly description?: string;
  readonly targets: readonly TargetValue[];
  readonly policy?: (typeof policyNames)[number];
  readonly timeout?: number;
  readonly limits?: LimitsValue;
  /** Stores prompts, inputs, vectors and images of its requests for this time, such as `24h`. */
  readonly storeContent?: { readonly for: string };
  readonly [option: string]: unknown;
}

export type ModelEntity = Entity<ModelValue>;

/** The id of a project is its name. */
export interface ProjectValue {
  readonly limits?: LimitsValue;
  readonly budget?: BudgetValue;
}

export interface ProjectEntity extends Entity<ProjectValue> {
  /** The active keys of the project. */
  readonly keys: number;
  /**
   * The users that were assigned to it; users that see all projects are not among them. Empty unless an administrator
   * sends the request.
   */
  readonly members: readonly { readonly id: string; readonly name: string }[];
}

export interface WebhookValue {
  readonly url: Secret;
  readonly secret?: Secret;
  /** Globs over event types. Absent: all events. */
  readonly events?: readonly string[];
}

/** A webhook with the state of its deliveries. A change of its URL changes its `id`, and not its `name`. */
export interface WebhookEntity extends ShownWebhook, Omit<Entity<WebhookValue>, "object" | "id"> {
  /** Its name in the store. `null`: it is defined elsewhere. */
  readonly name: string | null;
}
