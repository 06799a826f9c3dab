/**
 * The JSON of the admin API (/admin/api): what the server sends, the console reads and docs/openapi describe.
 * Plain declared interfaces: no schema library, so that the console imports types only.
 * Times are ISO 8601 in UTC, money is in US dollars, durations are in milliseconds. `null` means unknown, never 0.
 */

/** What a user of the console may do. Each role includes the earlier ones. */
export const roles = ["viewer", "developer", "admin"] as const;
export type Role = (typeof roles)[number];

/** One page of a list, newest first unless the endpoint says otherwise. */
export interface Page<Item> {
  readonly object: "list";
  readonly data: readonly Item[];
  /** Send it as `cursor` to get the next page. `null`: this is the last page. */
  readonly next_cursor: string | null;
}

// --- Session ---------------------------------------------------------------------------------------------------------

export interface SessionUser {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** The projects that a developer or viewer may see. `null`: all projects. */
  readonly projects: readonly string[] | null;
}

export interface Session {
  readonly object: "session";
  readonly user: SessionUser;
  /** Every changing request sends it in the header `x-csrf-token`. */
  readonly csrf_token: string;
  readonly expires_at: string;
}

/** What the sign-in page needs before anybody has signed in. */
export interface SignInOptions {
  readonly object: "sign_in_options";
  /** No user exists yet: only the one-time link of the start message creates the first. */
  readonly needs_setup: boolean;
  readonly oidc: { readonly name: string } | null;
}

/** Of new passwords. */
export const minPasswordLength = 12;

export interface SignInRequest {
  readonly name: string;
  readonly password: string;
}

/** Creates the first user. `token` is that of the one-time link. */
export interface SetupRequest extends SignInRequest {
  readonly token: string;
}

// --- Entities: upstreams, models, keys, projects, webhooks --------------------------------------------------------------

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

/** An API key as lists show it: never the key itself. */
export interface ApiKey {
  readonly object: "api_key";
  readonly id: string;
  readonly name: string;
  /** The first characters of the key. */
  readonly hint: string | null;
  readonly origin: Origin;
  readonly project: string | null;
  /** Globs over model ids. */
  readonly models: readonly string[];
  readonly limits: LimitsValue | null;
  readonly budget: BudgetValue | null;
  readonly created_at: string | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly state: "active" | "expiring" | "expired" | "revoked";
}

/** The response to the creation or rotation of a key: the only one that contains the key. */
export interface CreatedApiKey extends ApiKey {
  readonly key: string;
}

// --- Models, as the console shows them ----------------------------------------------------------------------------------

export interface ShownModel {
  readonly object: "model";
  readonly id: string;
  readonly kind: "embedding" | "image";
  readonly description: string | null;
  readonly owned_by: string;
  readonly origin: Origin;
  readonly dimensions: number | null;
  readonly context_tokens: number | null;
  /** Models with the same vector space give comparable vectors. */
  readonly vector_space: string | null;
  /** A price in words, such as `$0.02 per million tokens`. `null`: unknown. */
  readonly price: string | null;
  readonly ends_on: string | null;
  readonly limits: LimitsValue | null;
  /** Image models: the options that at least one target supports, with their values. */
  readonly options: Readonly<Record<string, readonly string[] | true>>;
  readonly targets: readonly ShownTarget[];
}

export interface ShownTarget {
  readonly object: "target";
  readonly upstream: string;
  readonly model: string;
  readonly surface: string | null;
  readonly models: readonly string[];
  readonly state: "healthy" | "slow_start" | "cooling" | "ejected";
  readonly reason: string | null;
  readonly until: string | null;
  readonly share: number;
  readonly in_flight: number;
  readonly limit: number;
  readonly error_share: number | null;
  readonly latency: readonly {
    readonly size: number;
    readonly mean_ms: number | null;
    readonly p95_ms: number | null;
  }[];
  readonly counts: Readonly<Record<string, number>>;
}

// --- Requests and usage -------------------------------------------------------------------------------------------------

/** One row of the ledger. */
export interface ShownRequest {
  readonly object: "request";
  readonly id: string;
  readonly at: string;
  readonly endpoint: string;
  readonly key_id: string;
  readonly key_name: string | null;
  readonly project: string | null;
  readonly model: string | null;
  readonly upstream: string | null;
  readonly target_model: string | null;
  readonly attempts: number;
  readonly status: number;
  readonly error: string | null;
  readonly latency_ms: number;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly images: number | null;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly cached_inputs: number | null;
  readonly cost: number | null;
  readonly estimated_cost: number | null;
  readonly steps: readonly string[];
}

export const usageDimensions = ["key", "project", "model", "target", "endpoint"] as const;
export type UsageDimension = (typeof usageDimensions)[number];

/** Usage of one hour or day, for one combination of the dimensions that the query groups by. */
export interface UsageRow {
  readonly object: "usage";
  readonly start: string;
  readonly group: Readonly<Partial<Record<UsageDimension, string | null>>>;
  readonly requests: number;
  readonly errors: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly images: number;
  readonly inputs: number;
  readonly cached_inputs: number;
  readonly cost: number;
  /** Requests without a known cost: `cost` does not include them. */
  readonly requests_without_cost: number;
  readonly estimated_cost: number;
  readonly latency_p50_ms: number | null;
  readonly latency_p95_ms: number | null;
}

/** What the overview shows, from the roll-ups and the counters in memory. */
export interface Overview {
  readonly object: "overview";
  readonly from: string;
  readonly to: string;
  readonly totals: Omit<UsageRow, "object" | "start" | "group">;
  readonly series: readonly UsageRow[];
  readonly attention: readonly AttentionItem[];
}

/** Something that an operator should look at, and where it is mended. */
export interface AttentionItem {
  readonly type:
    | "target_unhealthy"
    | "budget_exhausted"
    | "budget_nearly_exhausted"
    | "key_expiring"
    | "config_rejected"
    | "ledger_unwritable"
    | "model_ending";
  readonly severity: "warning" | "error";
  readonly subject: string;
  readonly detail: string;
  /** A path of the console, such as `/upstreams/openai`. */
  readonly link: string;
}

export interface BudgetStatus {
  readonly object: "budget_status";
  readonly scope: "key" | "project";
  readonly id: string;
  readonly name: string;
  readonly period: "day" | "month" | "total";
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;
  readonly left: number;
  readonly resets_at: string | null;
}

// --- Events and webhooks -----------------------------------------------------------------------------------------------

export interface ShownEvent {
  readonly object: "event";
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly deliveries: readonly {
    readonly webhook: string;
    readonly state: "waiting" | "delivered" | "abandoned";
    readonly attempts: number;
    readonly last_attempt_at: string | null;
    readonly next_attempt_at: string | null;
    readonly status: number | null;
    readonly problem: string | null;
  }[];
}

export interface ShownWebhook {
  readonly object: "webhook";
  readonly id: string;
  /** Without its query string, which often contains a token. */
  readonly url: string;
  readonly events: readonly string[];
  readonly state: "active" | "gone";
  readonly waiting: number;
  readonly delivered: number;
  readonly consecutive_failures: number;
}

// --- Audit, users, settings ---------------------------------------------------------------------------------------------

export interface AuditEntry {
  readonly object: "audit_entry";
  readonly id: string;
  readonly at: string;
  /** A user's name, `admin token`, or `command line`. */
  readonly actor: string;
  /** Such as `upstream.updated` or `session.created`. */
  readonly action: string;
  readonly subject: string | null;
  /** Secrets are masked in both. */
  readonly before: unknown;
  readonly after: unknown;
  readonly address: string | null;
}

export interface User {
  readonly object: "user";
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly projects: readonly string[] | null;
  readonly sign_in: "password" | "oidc";
  readonly created_at: string;
  readonly last_sign_in_at: string | null;
}

export interface Setting {
  readonly object: "setting";
  readonly name: string;
  readonly value: string;
  readonly is_default: boolean;
  readonly description: string;
}

/** An error of the admin API, in OpenAI's shape. */
export interface AdminError {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}
