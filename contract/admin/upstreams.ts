/** Kinds of upstreams with the fields of their forms, and connection tests. */

/** A kind of upstream, with the fields of its form. */
export interface UpstreamKind {
  readonly object: "upstream_kind";
  readonly kind: string;
  /** The vendor's or the server's name. */
  readonly title: string;
  /** The only kind of model it serves. `null`: both. */
  readonly serves: "embedding" | "image" | null;
  readonly fields: readonly FormField[];
  /** At least one of these sets of fields must be complete. `null`: no choice. */
  readonly needs_one_of: readonly (readonly string[])[] | null;
}

export interface FormField {
  readonly name: string;
  /** `lines`: text with line breaks. `pairs`: an object of names and texts. */
  readonly type: "text" | "lines" | "url" | "number" | "boolean" | "choice" | "pairs";
  readonly required: boolean;
  /** Write-only, encrypted in the store. */
  readonly secret: boolean;
  /** The value that applies if the field is absent. `null`: no value, or it depends on the upstream. */
  readonly default: string | number | boolean | null;
  readonly description: string;
  readonly choices: readonly string[] | null;
}

export const connectionSteps = ["dns", "tcp", "tls", "http", "credential"] as const;
export type ConnectionStepName = (typeof connectionSteps)[number];

export interface ConnectionStep {
  readonly step: ConnectionStepName;
  /** `skipped`: an earlier step failed, or the step does not apply. */
  readonly result: "passed" | "failed" | "skipped";
  /** What was found, in words. */
  readonly detail: string;
  readonly duration_ms: number | null;
}

/** The result of a connection test. Without `mayCost` it sends no request that costs money. */
export interface ConnectionTest {
  readonly object: "connection_test";
  readonly steps: readonly ConnectionStep[];
  /** An HTTP response arrived. */
  readonly reachable: boolean;
  /**
   * `unverified`: the vendor has no request that checks a credential without cost; a test with `mayCost` does.
   * `none`: the upstream has no credential.
   */
  readonly credential: "accepted" | "refused" | "unverified" | "none";
  readonly duration_ms: number;
  /** The first problem. `null`: none. */
  readonly problem: string | null;
  /** `null`: the vendor does not list its models. */
  readonly models: readonly DiscoveredModel[] | null;
  /** A request was sent that the vendor may bill. */
  readonly may_have_cost: boolean;
}

export interface DiscoveredModel {
  /** The upstream's name of the model. */
  readonly id: string;
  /** `null`: unknown. */
  readonly kind: "embedding" | "image" | null;
}
