/** Models and targets as the console shows them. */
import type { LimitsValue, Origin } from "./entities.ts";

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
