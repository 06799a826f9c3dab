/** The health of targets as JSON for the admin API, without addresses or keys. */
import type { ShownTarget } from "../../contract/admin.ts";
import { errorTable } from "../../contract/errors.ts";
import { message } from "../../contract/messages/message.ts";
import type { Message, Translatable } from "../../contract/messages/message-format.ts";
import type { CircuitBreaker } from "./health/circuit-breaker.ts";
import { sizeClasses } from "./health/latency-stats.ts";
import { rateLimit, type TargetHealth } from "./health/target-health.ts";
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
  const state = health.state(clockMs);
  const leftMs =
    state === "cooling" ? breaker.coolDownMs(clockMs) : breaker.probeWaitMs(clockMs, false);
  return {
    object: "target",
    upstream: target.upstream.id,
    upstream_kind: target.upstream.kind,
    model: target.model,
    surface: target.surface ?? null,
    models,
    state,
    reason: state === "healthy" ? null : breaker.reason(clockMs),
    ...(state !== "healthy" && translatable(breaker.cause(clockMs))),
    until: state === "healthy" ? null : new Date(at + leftMs).toISOString(),
    in_flight: inFlight,
    limit: concurrency.limit,
    latency: latencyOf(health),
    counts: { ...counts },
    last_errors: health.lastErrors.map(({ at: failedAt, kind, message }) => ({
      at: new Date(at - (clockMs - failedAt)).toISOString(),
      error: kind,
      message,
    })),
  };
}

/** For clients that translate the reason. */
function translatable({ failures, last }: ReturnType<CircuitBreaker["cause"]>): {
  readonly i18n?: Translatable;
} {
  if (last === rateLimit) return { i18n: message("target_rate_limited").i18n };
  if (!(last in errorTable)) return {};
  const error: Message = { text: last, i18n: { id: `error.${last}`, values: {} } };
  if (failures === 0) return { i18n: error.i18n };
  return { i18n: message("target_failures", { count: failures, error }).i18n };
}

/** Only the size classes that have been measured. */
const latencyOf = (health: TargetHealth) =>
  Array.from({ length: sizeClasses }, (_, size) => {
    const [mean, p95] = [health.latency.lastMeanMs(size), health.latency.p95Ms(size)];
    return { size, mean_ms: inTenths(mean), p95_ms: inTenths(p95) };
  }).filter(({ mean_ms }) => mean_ms !== null);

const inTenths = (ms: number | undefined): number | null =>
  ms === undefined ? null : Math.round(ms * 10) / 10;
