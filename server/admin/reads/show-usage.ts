/** Usage of the ledger as JSON: percentiles from the latency histogram, and the dimensions of the console. */
import type { UsageDimension, UsageRow, UsageSums } from "../../../contract/admin.ts";
import {
  type LabelKind,
  type LedgerDimension,
  type LedgerSums,
  latencyBoundsMs,
  type UsageGroup,
} from "../../storage/ports/ledger-queries.ts";

/** A target is an upstream and the name of the model there. */
export const ledgerDimensionsOf: Readonly<
  Record<UsageDimension, readonly (LedgerDimension | LabelKind)[]>
> = {
  key: ["keyId"],
  project: ["project"],
  model: ["model"],
  target: ["upstream", "targetModel"],
  tag: ["tag"],
  end_user: ["endUser"],
};

export function showUsage(
  group: UsageGroup,
  dimensions: readonly UsageDimension[],
  names: ReadonlyMap<string, string>,
): UsageRow {
  return {
    object: "usage",
    start: new Date(group.from).toISOString(),
    group: Object.fromEntries(dimensions.map((name) => [name, valueIn(group, name)])),
    key_name: names.get(group.keyId ?? "") ?? null,
    ...showSums(group),
  };
}

function valueIn(group: UsageGroup, dimension: UsageDimension): string | null {
  if (dimension === "key") return group.keyId ?? null;
  if (dimension === "project") return group.project ?? null;
  if (dimension === "model") return group.model ?? null;
  if (dimension === "tag") return group.tag ?? null;
  if (dimension === "end_user") return group.endUser ?? null;
  const { upstream, targetModel } = group;
  return upstream ? `${upstream}/${targetModel ?? ""}` : null;
}

export const showSums = (sums: LedgerSums): UsageSums => ({
  requests: sums.requests,
  errors: sums.errors,
  input_tokens: sums.inputTokens,
  output_tokens: sums.outputTokens,
  images: sums.images,
  inputs: sums.inputs,
  cached_inputs: sums.cachedInputs,
  cost: sums.cost,
  requests_without_cost: sums.unpricedRequests,
  estimated_cost: sums.estimatedCost,
  latency_p50_ms: percentile(sums.latencyHistogram, 0.5),
  latency_p95_ms: percentile(sums.latencyHistogram, 0.95),
  latency_p99_ms: percentile(sums.latencyHistogram, 0.99),
});

export const noUsage: UsageSums = showSums({
  requests: 0,
  errors: 0,
  unmeteredRequests: 0,
  unpricedRequests: 0,
  inputTokens: 0,
  outputTokens: 0,
  images: 0,
  inputs: 0,
  cachedInputs: 0,
  cost: 0,
  estimatedCost: 0,
  latencyMs: 0,
  latencyHistogram: [],
});

/** Linear interpolation inside the bucket. A percentile above the last bound is reported as that bound. */
export function percentile(histogram: readonly number[], share: number): number | null {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = share * total;
  let below = 0;
  for (const [at, count] of histogram.entries()) {
    const upper = latencyBoundsMs[at];
    if (upper === undefined) break;
    if (count > 0 && below + count >= rank) {
      const lower = latencyBoundsMs[at - 1] ?? 0;
      return Math.round((lower + ((rank - below) / count) * (upper - lower)) * 10) / 10;
    }
    below += count;
  }
  return latencyBoundsMs.at(-1) ?? null;
}
