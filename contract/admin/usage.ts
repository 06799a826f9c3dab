/** Usage by hour, day or month. */
import type { Page } from "./page.ts";

export const usageDimensions = ["key", "project", "model", "target"] as const;
export type UsageDimension = (typeof usageDimensions)[number];

export const usageIntervals = ["hour", "day", "month", "total"] as const;
export type UsageInterval = (typeof usageIntervals)[number];

export interface UsageSums {
  readonly requests: number;
  readonly errors: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly images: number;
  /** Inputs of embeddings requests, and how many of them were not sent to an upstream. */
  readonly inputs: number;
  readonly cached_inputs: number;
  readonly cost: number;
  /** Successful requests without a known cost: `cost` does not include them. */
  readonly requests_without_cost: number;
  readonly estimated_cost: number;
  /** Interpolated in a histogram. */
  readonly latency_p50_ms: number | null;
  readonly latency_p95_ms: number | null;
  readonly latency_p99_ms: number | null;
}

/** Usage of one period, for one combination of the dimensions that the query groups by. */
export interface UsageRow extends UsageSums {
  readonly object: "usage";
  /** The start of the period (UTC). */
  readonly start: string;
  /** A `target` is named like `openai/text-embedding-3-small`. `null`: the requests had no such value. */
  readonly group: Readonly<Partial<Record<UsageDimension, string | null>>>;
  /** The name of the key in `group`, if it is known. */
  readonly key_name: string | null;
}

export interface UsagePage extends Page<UsageRow> {
  /** There are more rows. Choose a shorter time, a longer interval, or fewer dimensions. */
  readonly has_more: boolean;
}
