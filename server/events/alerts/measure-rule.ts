/** The value of an alert rule, and the highest that it can be while a part of it is not known, as after a start. */
import type { AlertRule } from "../../config/snapshot.ts";
import { latencyPercentile } from "../../storage/latency-percentile.ts";
import { latencyBoundsMs } from "../../storage/ports/ledger-queries.ts";
import { addSums, type RequestSums, type WindowSums } from "./request-window.ts";

/** Null if too few requests to judge. */
export interface Measured {
  readonly value: number | null;
  readonly highest: number | null;
}

export interface RuleTarget {
  readonly upstream: string;
  /** The models of clients that it serves. */
  readonly models: readonly string[];
  readonly state: string;
  /** Outcomes of its requests since the processes started. */
  readonly counts: Readonly<Record<string, number>>;
}

/** `isStarting`: a target without requests may have been unhealthy before the start. */
export function measureTargets(
  { upstream, model }: AlertRule,
  targets: readonly RuleTarget[],
  isStarting: boolean,
): Measured {
  const ofRule = targets.filter(
    (target) =>
      (upstream === undefined || target.upstream === upstream) &&
      (model === undefined || target.models.includes(model)),
  );
  const healthy = ofRule.filter(({ state }) => state === "healthy");
  const untried = healthy.filter(({ counts }) => Object.values(counts).every((each) => each === 0));
  const value = ofRule.length - healthy.length;
  return { value, highest: value + (isStarting ? untried.length : 0) };
}

export function measureRequests(rule: AlertRule, window: WindowSums): Measured {
  const known = measuredPart(rule, window.known);
  const uncertain = measuredPart(rule, window.uncertain);
  const most = known.requests + uncertain.requests;
  return {
    value: valueFrom(rule, known, known.requests),
    highest: valueFrom(rule, addSums(known, worstOf(uncertain, rule.above)), most),
  };
}

/** A refused request says nothing about the error rate: neither a failure nor a success. */
const measuredPart = ({ metric }: AlertRule, sums: RequestSums): RequestSums =>
  metric === "error_rate"
    ? {
        ...sums,
        requests: sums.requests - sums.refused,
        errors: sums.errors - sums.refused,
        refused: 0,
      }
    : sums;

/** `requests`: how many requests the window has. */
function valueFrom(rule: AlertRule, sums: RequestSums, requests: number): number | null {
  if (rule.metric === "spend") return sums.cost + sums.estimatedCost;
  if (requests < rule.minRequests) return null;
  if (rule.metric === "latency_p95") return latencyPercentile(sums.latencyHistogram, 0.95);
  return sums.requests === 0 ? 0 : (100 * sums.errors) / sums.requests;
}

/** Those of the requests that raise a value: with an error, or in the bucket of the bound or a slower one. */
const worstOf = (sums: RequestSums, above: number): RequestSums => ({
  ...sums,
  requests: sums.errors,
  latencyHistogram: sums.latencyHistogram.map((count, at) =>
    (latencyBoundsMs[at] ?? Number.POSITIVE_INFINITY) >= above ? count : 0,
  ),
});
