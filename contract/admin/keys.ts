/** API keys. */
import type { BudgetValue, LimitsValue, Origin } from "./entities.ts";

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
  /** `batch`: all of its requests are batch requests. `null`: the request decides. */
  readonly priority: "batch" | null;
  /** What happens to image parameters that a target does not support. `null`: the model decides. */
  readonly parameters: "adapt" | "strict" | "drop" | "pass" | null;
  /** The models of requests without `model`. */
  readonly defaults: { readonly embedding: string | null; readonly image: string | null };
  readonly created_at: string | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly state: "active" | "expiring" | "expired" | "revoked";
}

/** The response to the creation or rotation of a key: the only one that contains the key. */
export interface CreatedApiKey extends ApiKey {
  readonly key: string;
}
