/** The health of targets as JSON for the admin API, without addresses or keys. */

import type { ShownTarget } from "../../contract/admin.ts";
import { sizeClasses } from "./health/latency-stats.ts";
import type { TargetHealth } from "./health/target-health.ts";
import type { ConfiguredTarget, TargetRegistry } from "./target-registry.ts";

/** `now`: Unix milliseconds. */
export const showTargets = (
  registry: TargetRegistry,
  now: () => number,
): readonly ShownTarget[] => {
  const [clockMs, at] = [registry.clock(), now()];
  return registry.configuredTargets().map((each) => showTarget(each, clockMs, at));
};

/** `clockMs`: milliseconds, monotonic. `at`: the same time in Unix milliseconds. */
function showTarget(
  { health, models }: ConfiguredTarget,
  clockMs: number,
  at: number,
): ShownTarget {
  const { target, breaker, inFlight, concurrency, counts } = health;
  const { state, reason, leftMs } = displayStateOf(health, clockMs);
  return {
    object: "target",
    upstream: target.upstream.id,
    model: target.model,
    surface: target.surface ?? null,
    models,
    state,
    reason,
    until: leftMs === undefined ? null : new Date(at + leftMs).toISOString(),
    share: breaker.open ? 0 : rounded(breaker.rampShare(clockMs), 100),
    in_flight: inFlight,
    limit: concurrency.limit,
    error_share:
      health.sampleCount(clockMs) > 0 ? rounded(health.failureRate(clockMs), 1000) : null,
    latency: latencyOf(health),
    counts: { ...counts },
    last_errors: health.lastErrors.map(({ at: failedAt, kind, message }) => ({
      at: new Date(at - (clockMs - failedAt)).toISOString(),
      error: kind,
      message,
    })),
  };
}

interface DisplayState {
  readonly state: "healthy" | "slow_start" | "cooling" | "ejected";
  readonly reason: string | null;
  readonly leftMs?: number;
}

function displayStateOf(health: TargetHealth, clockMs: number): DisplayState {
  const { breaker, coolDown } = health;
  const cooling = coolDown.leftMs(clockMs);
  if (breaker.open) {
    const leftMs = Math.max(cooling, breaker.waitMs(clockMs, false));
    return { state: "ejected", reason: breaker.reason, leftMs };
  }
  if (cooling > 0) return { state: "cooling", reason: coolDown.reason, leftMs: cooling };
  // Not available although neither ejected nor cooling down: several requests wait for the first response of the
  // target.
  if (health.state(clockMs, false) !== "available")
    return { state: "cooling", reason: health.reason };
  const leftMs = breaker.rampLeftMs(clockMs);
  return leftMs > 0
    ? { state: "slow_start", reason: "it has just recovered", leftMs }
    : { state: "healthy", reason: null };
}

/** Only the size classes that have been measured. */
const latencyOf = (health: TargetHealth) =>
  Array.from({ length: sizeClasses }, (_, size) => {
    const [mean, p95] = [health.latency.lastMeanMs(size), health.latency.p95Ms(size)];
    return { size, mean_ms: inTenths(mean), p95_ms: inTenths(p95) };
  }).filter(({ mean_ms }) => mean_ms !== null);

const inTenths = (ms: number | undefined): number | null =>
  ms === undefined ? null : rounded(ms, 10);

const rounded = (value: number, parts: number): number => Math.round(value * parts) / parts;
