/** Usage by hour or day. */
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
