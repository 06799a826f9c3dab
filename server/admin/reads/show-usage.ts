/** Usage of the ledger as JSON: percentiles from the latency histogram, and the dimensions of the console. */
import type { UsageDimension, UsageRow, UsageSums } from "../../../contract/admin.ts";
import { roundDollars } from "../../lib/nano-dollars.ts";
import { latencyPercentile } from "../../storage/latency-percentile.ts";
import type {
  LabelKind,
  LedgerDimension,
  LedgerSums,
  UsageGroup,
} from "../../storage/ports/ledger-queries.ts";

/** A target is an upstream and the name of the model there. */
export const ledgerDimensionsOf: Readonly<
  Record<UsageDimension, readonly (LedgerDimension | LabelKind)[]>
> = {
  key: ["keyId"],
  project: ["project"],
  model: ["model"],
  upstream: ["upstream"],
  target: ["upstream", "targetModel"],
  status: ["failedStatus"],
  user: ["keyId"],
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
  const [first, second] = ledgerDimensionsOf[dimension].map((name) => group[name] ?? null);
  if (second === undefined || first === otherGroup) return first ?? null;
  return first ? `${first}/${second ?? ""}` : null;
}

/** The groups below the largest ones. No tag or model has this name. */
export const otherGroup = "(other)";

const measures: readonly ((sums: LedgerSums) => number)[] = [
  ({ requests }) => requests,
  ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
  ({ images }) => images,
  ({ cost, estimatedCost }) => cost + estimatedCost,
];

/**
 * The groups with the largest share of any measure: none of them is hidden in a chart that it dominates. Errors do not
 * count: the only error of a day would displace a large group.
 */
export function largestGroups(groups: readonly UsageGroup[], count: number): UsageGroup[] {
  const totals = measures.map((of) => groups.reduce((sum, group) => sum + of(group), 0));
  const shareOf = (group: UsageGroup): number =>
    Math.max(...measures.map((of, at) => of(group) / (totals[at] || 1)));
  return groups.toSorted((a, b) => shareOf(b) - shareOf(a)).slice(0, count);
}

export const addSums = (sums: LedgerSums, more: LedgerSums): LedgerSums => combine(sums, more, 1);

/** The sums minus a part of them. */
export const subtractSums = (sums: LedgerSums, part: LedgerSums): LedgerSums =>
  combine(sums, part, -1);

const combine = (sums: LedgerSums, part: LedgerSums, sign: 1 | -1): LedgerSums => ({
  requests: sums.requests + sign * part.requests,
  errors: sums.errors + sign * part.errors,
  refused: sums.refused + sign * part.refused,
  unmeteredRequests: sums.unmeteredRequests + sign * part.unmeteredRequests,
  unpricedRequests: sums.unpricedRequests + sign * part.unpricedRequests,
  inputTokens: sums.inputTokens + sign * part.inputTokens,
  outputTokens: sums.outputTokens + sign * part.outputTokens,
  images: sums.images + sign * part.images,
  inputs: sums.inputs + sign * part.inputs,
  cachedInputs: sums.cachedInputs + sign * part.cachedInputs,
  // Sums of fractions: the rest may be slightly below 0.
  cost: Math.max(0, sums.cost + sign * part.cost),
  estimatedCost: Math.max(0, sums.estimatedCost + sign * part.estimatedCost),
  latencyMs: Math.max(0, sums.latencyMs + sign * part.latencyMs),
  latencyHistogram: sums.latencyHistogram.map(
    (count, at) => count + sign * (part.latencyHistogram[at] ?? 0),
  ),
});

export const showSums = (sums: LedgerSums): UsageSums => ({
  requests: sums.requests,
  errors: sums.errors,
  refused: sums.refused,
  input_tokens: sums.inputTokens,
  output_tokens: sums.outputTokens,
  images: sums.images,
  inputs: sums.inputs,
  cached_inputs: sums.cachedInputs,
  cost: roundDollars(sums.cost),
  requests_without_cost: sums.unpricedRequests,
  estimated_cost: roundDollars(sums.estimatedCost),
  charged: roundDollars(sums.cost + sums.estimatedCost),
  latency_p50_ms: latencyPercentile(sums.latencyHistogram, 0.5),
  latency_p95_ms: latencyPercentile(sums.latencyHistogram, 0.95),
  latency_p99_ms: latencyPercentile(sums.latencyHistogram, 0.99),
});

export const noSums: LedgerSums = {
  requests: 0,
  errors: 0,
  refused: 0,
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
};

export const noUsage: UsageSums = showSums(noSums);
