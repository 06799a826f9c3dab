/** Entities that the API changes: upstreams, models, projects, webhooks. */
/** Where an entity is defined. Only entities of the store can be changed through the API. */
export interface Origin {
  readonly source: "yaml" | "environment" | "store" | "embedded";
  /** Such as `vexel.yaml:12` or `OPENAI_API_KEY`. */
  readonly location: string | null;
}

export interface Entity<Value> {
  readonly id: string;
  readonly origin: Origin;
  readonly read_only: boolean;
  /** For `if-match` of a change: a change that is based on an older version is refused. */
  readonly version: number;
  readonly updated_at: string | null;
  readonly value: Value;
}

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

/** The same members as an upstream in vexel.yaml. Secrets are write-only: a stored one is shown as `secretMask`. */
export interface UpstreamValue {
  readonly id: string;
  readonly kind: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits?: LimitsValue;
  /** Options of the kind, such as `region` or `project`. */
  readonly [option: string]: unknown;
}

/** Sent in place of a stored secret, and accepted in a change to mean "unchanged". */
export const secretMask = "********";

export interface TargetValue {
  readonly upstream: string;
  readonly model: string;
  readonly weight?: number;
  readonly tier?: number;
  readonly limits?: LimitsValue;
  readonly [option: string]: unknown;
}

/** The same members as a model in vexel.yaml. */
export interface ModelValue {
  readonly id: string;
  readonly kind: "embedding" | "image";
  readonly description?: string;
  readonly targets: readonly TargetValue[];
  readonly limits?: LimitsValue;
  readonly [option: string]: unknown;
}

export interface ProjectValue {
  readonly name: string;
  readonly limits?: LimitsValue;
  readonly budget?: BudgetValue;
}

export interface WebhookValue {
  readonly url: string;
  /** Write-only. */
  readonly secret?: string;
  readonly events: readonly string[];
}

/** A kind of upstream, with the fields of its form. */
export interface UpstreamKind {
  readonly kind: string;
  readonly title: string;
  readonly needs: readonly string[];
  readonly fields: readonly FormField[];
}

export interface FormField {
  readonly name: string;
  readonly type: "text" | "secret" | "url" | "number" | "boolean" | "choice";
  readonly required: boolean;
  readonly description: string | null;
  readonly choices: readonly string[] | null;
}

/** The result of a connection test. It never generates anything that costs money. */
export interface ConnectionTest {
  readonly object: "connection_test";
  readonly reachable: boolean;
  /** `null`: the vendor has no request that checks a credential without cost. */
  readonly credential_accepted: boolean | null;
  readonly duration_ms: number;
  readonly problem: string | null;
  /** `null`: the vendor does not list its models. */
  readonly models: readonly string[] | null;
}
